/** The page of a repository host that shows the commits between two commits. */

import type { Commit } from "../api/client";

type Linked = Pick<Commit, "hash" | "url">;

/**
 * The address of the comparison of two commits; "" where the host of the repository has none that is known.
 *
 * It follows from the address of the later commit: `…/commit/HASH` on GitHub, GitLab and Forgejo, `…/+/HASH` on Gitiles.
 */
export function compareUrl(previous: Linked, commit: Linked): string {
  const { hash, url } = commit;
  if (url.endsWith(`/commit/${hash}`)) {
    return `${url.slice(0, -`commit/${hash}`.length)}compare/${previous.hash}...${hash}`;
  }
  return url.endsWith(`/+/${hash}`) ? `${url.slice(0, -`/${hash}`.length)}log/${previous.hash}..${hash}` : "";
}
