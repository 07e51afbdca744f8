/** Values of a trace that probes of bisections measured, in words. */

import { html, nothing } from "lit";
import type { RemeasuredValue } from "../../api/client";
import { countText } from "../../text/numbers";
import { valueText } from "../../text/units";

/** Values of probes that the tooltip lists. */
const MOST_VALUES = 6;

/** What probes measured at a commit, in the tooltip of the plot. */
export function remeasuredTips(values: readonly RemeasuredValue[], position: number, unit: string) {
  const here = values.filter((each) => each.position === position);
  if (here.length === 0) return nothing;
  const bisections = [...new Set(here.flatMap((each) => each.bisections))];
  const shown = here.slice(0, MOST_VALUES).map((each) => {
    const beside = each.counts ? "" : ", which has levels of its own";
    return `${valueText(each.value, unit)} on ${each.device}${beside}`;
  });
  const left = here.length - shown.length;
  return html`<div class="tip-note">
    Re-measured by ${bisections.join(", ")}: ${shown.join(", ")}${left > 0 ? `, and ${countText(left, "other")}` : ""}
  </div>`;
}
