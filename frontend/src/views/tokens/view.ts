/** The tokens page: the tokens for machines, with what each is good for, and the dialogs that make and revoke them. */

import { html, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { api, type Caller, type Repository, type Token } from "../../api/client";
import { PageElement } from "../../page-element";
import { tokensRoute, type TokensRoute } from "../../routes/tokens";
import { isAllowedSomewhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { registerShortcuts } from "../../state/shortcuts";
import { showToast } from "../../state/toasts";
import { adminsOnlyNotice } from "../../templates/access";
import { errorNotice, loadingNotice } from "../../templates/notice";
import "./create-dialog";
import type { CreateTokenDialog } from "./create-dialog";
import "./revoke-dialog";
import type { RevokeTokenDialog } from "./revoke-dialog";
import { renderTokens } from "./table";

@customElement("kp-tokens")
export class TokensView extends PageElement {
  @property({ attribute: false }) route: TokensRoute = tokensRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;
  @query("kp-create-token") private readonly createDialog!: CreateTokenDialog | null;
  @query("kp-revoke-token") private readonly revokeDialog!: RevokeTokenDialog | null;
  private unregisterShortcuts: (() => void) | undefined;

  private readonly tokens = new Resource<readonly [], readonly Token[]>(this, {
    args: () => (this.isAdmin ? [] : undefined),
    load: (_, signal) => api.tokens(signal),
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.unregisterShortcuts = registerShortcuts(() => this.shortcuts());
  }

  override disconnectedCallback(): void {
    this.unregisterShortcuts?.();
    super.disconnectedCallback();
  }

  private shortcuts() {
    if (!this.isAdmin) return [];
    const create = { keys: ["n"], description: "new token", run: () => void this.create() };
    return [{ title: "Tokens", shortcuts: [create] }];
  }

  private get isAdmin(): boolean {
    return isAllowedSomewhere(this.caller, "admin");
  }

  private async create(): Promise<void> {
    const token = await this.createDialog?.open(this.caller, this.repositories);
    if (token) this.tokens.reload();
  }

  private async revoke(token: Token): Promise<void> {
    const revoked = await this.revokeDialog?.open(token);
    if (!revoked) return;
    showToast({ text: `Revoked the token ${revoked.name}.` });
    this.tokens.reload();
  }

  override render() {
    if (!this.isAdmin) return adminsOnlyNotice(this.caller, "Tokens");
    const { value: tokens, error } = this.tokens;
    return html`<div class="page-head">
        <h1>Tokens</h1>
        <p class="faint">
          A token lets a machine use the <a href="/api/v1/reference" target="_blank">API</a>: CI uploads results, a
          script reads values. People sign in instead.
        </p>
        <button class="button primary" @click=${() => void this.create()}>New token <kbd>n</kbd></button>
      </div>
      ${error ? errorNotice(error, () => this.tokens.reload()) : nothing}
      ${tokens ? this.renderList(tokens) : error ? nothing : loadingNotice("Loading the tokens")}
      <kp-create-token></kp-create-token>
      <kp-revoke-token></kp-revoke-token>`;
  }

  private renderList(tokens: readonly Token[]) {
    if (tokens.length > 0) return renderTokens(tokens, (token) => void this.revoke(token));
    return html`<div class="notice">
      <h2>No tokens yet</h2>
      <p>
        Make one for each machine that uploads results or reads findings. Limit it to what that machine does: then a
        token that leaks does little harm, and it is revoked alone.
      </p>
      <p>GitHub Actions and GitLab CI can upload without a token, with the identity of the job.</p>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-tokens": TokensView;
  }
}
