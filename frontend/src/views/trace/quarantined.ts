/** Quarantined values of a trace in words: why, since when, and what is known. */

import { html, nothing } from "lit";
import type { QuarantinedValue } from "../../api/client";
import { timestampText } from "../../text/dates";
import { valueText } from "../../text/units";
import type { TraceContext } from "./context";

/** The quarantined values at a commit, in the tooltip of the plot. */
export function quarantinedTips(values: readonly QuarantinedValue[], position: number) {
  return values
    .filter((each) => each.position === position)
    .map((each) => html`<div class="tip-note">${renderValue(each)}: ${renderReason(each)}</div>`);
}

/** The quarantined values at the pinned commit, as a fact of it. */
export function renderQuarantined({ quarantined }: TraceContext, position: number) {
  const here = quarantined.filter((each) => each.position === position);
  if (here.length === 0) return nothing;
  return here.map(
    (each) =>
      html`<div title=${each.quarantine.run}>
        <dt>${each.quarantine.state === "kept-out" ? "Kept out" : "Quarantined"}</dt>
        <dd>
          ${renderValue(each)}
          <div class="second">${renderReason(each)}</div>
        </dd>
      </div>`,
  );
}

function renderValue({ value, unit, quarantine }: QuarantinedValue) {
  return html`<span class="figure">${value === null ? "no value" : valueText(value, unit)}</span> ${
      quarantine.state === "kept-out" ? "is kept out of levels" : "is quarantined"
    }`;
}

function renderReason({ quarantine }: QuarantinedValue) {
  const { reason, since, until, outcome } = quarantine;
  const ending = outcome || `without an outcome it counts from ${timestampText(until)}`;
  return html`${reason}; since ${timestampText(since)}; ${ending}`;
}
