/** The links to other pages of the list, and the number of changes on a page. */

import { html, nothing } from "lit";
import type { ChangeList } from "../../api/client";
import { routeUrl } from "../../routes/routes";
import { selectField } from "../../templates/select-field";
import { countText } from "../../text/numbers";
import type { TriageContext } from "./context";

const PAGE_SIZES = [50, 100, 200, 500];

export function renderPager(context: TriageContext, data: ChangeList) {
  if (data.pages <= 1 && data.total <= Math.min(...PAGE_SIZES)) return nothing;
  const { size } = context.route;
  const sizes = [...new Set([...PAGE_SIZES, size])].sort((a, b) => a - b);
  const options = sizes.map((number) => [String(number), `${number} on a page`] as const);
  return html`<nav class="pages" aria-label="Pages">
    ${renderLink(context, "Back", "[", data.page - 1, data.page > 1)}
    <span>page ${data.page} of ${data.pages}, ${countText(data.total, "change")}</span>
    ${renderLink(context, "Next", "]", data.page + 1, data.page < data.pages)}
    ${selectField("Changes per page", String(size), options, (value) =>
      context.updateRoute({ size: Number(value), page: 1, at: "" }),
    )}
  </nav>`;
}

function renderLink({ route }: TriageContext, label: string, key: string, page: number, enabled: boolean) {
  if (!enabled) return html`<span class="button small" aria-disabled="true">${label} <kbd>${key}</kbd></span>`;
  return html`<a class="button small" href=${routeUrl({ ...route, page, at: "" })}>${label} <kbd>${key}</kbd></a>`;
}
