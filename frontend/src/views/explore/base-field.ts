/** The commit that values on a relative scale are percent of: its name, and the field that sets it. */

import { html } from "lit";
import type { ExploreContext } from "./context";

/** The short hash of the commit that values on a relative scale refer to; "" until it is loaded. */
function baseHash(context: ExploreContext): string {
  const { line, route } = context;
  const { commits } = line;
  if (route.base === undefined || !commits) return "";
  const known = commits.peek(route.base)?.short;
  if (!known)
    void commits.at(route.base).then(
      (found) => found && context.refreshPicked(),
      () => undefined,
    );
  return known ?? "";
}

/** What values on a relative scale are percent of. */
export function baseText(context: ExploreContext): string {
  return context.route.base === undefined ? "first value" : `commit ${baseHash(context)}`;
}

export function renderBaseField(context: ExploreContext) {
  const onChange = (event: Event): void => void context.findBase((event.target as HTMLInputElement).value.trim());
  return html`<input
    class="base"
    type="search"
    aria-label="Percent of the values at the commit"
    title="Hash or number of a commit; empty for the first value of each line"
    placeholder="of commit …"
    .value=${baseHash(context)}
    @change=${onChange}
  />`;
}
