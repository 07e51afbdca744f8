/** The route of the tokens page. */

import type { RouteFormat } from "./url";

export interface TokensRoute {
  view: "tokens";
}

export const tokensRoute: TokensRoute = { view: "tokens" };

export const tokensFormat: RouteFormat<TokensRoute> = {
  title: "Tokens",
  parse: ({ pathname }) => (pathname === "/tokens" ? tokensRoute : undefined),
  format: () => "/tokens",
};
