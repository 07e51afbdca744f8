/** The route of the page of a commit. */

import { formatUrl, type RouteFormat } from "./url";

export interface CommitRoute {
  view: "commit";
  /** Its hash, a prefix of it, or its number. */
  hash: string;
  /** Name of the repository; it may be "" where there is only one. */
  repository: string;
}

export const commitRoute: CommitRoute = { view: "commit", hash: "", repository: "" };

export const commitFormat: RouteFormat<CommitRoute> = {
  title: "Commit",
  parse({ pathname, searchParams }) {
    const hash = /^\/commit\/(.+)$/.exec(pathname)?.[1];
    if (hash === undefined) return undefined;
    return { view: "commit", hash: decodeURIComponent(hash), repository: searchParams.get("repository") ?? "" };
  },
  format: ({ hash, repository }) => formatUrl(`/commit/${encodeURIComponent(hash)}`, [["repository", repository]]),
};
