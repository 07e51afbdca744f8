/** The bar at the foot of the page with the decisions about the selected findings. */

import { html, nothing } from "lit";
import { countSelected, selectedChanges } from "../../state/triage/selection";
import { countText } from "../../text/numbers";
import type { TriageContext } from "./context";

export function renderSelectionBar(context: TriageContext) {
  const { selection } = context;
  const changes = context.data?.changes ?? [];
  const { whole, partial } = selectedChanges(changes, selection);
  return html`<div class="selection" role="region" aria-label="Selection">
    <strong aria-live="polite">${countText(countSelected(changes, selection), "change point")} selected</strong>
    ${
      context.route.tab === "processed"
        ? renderButton("Put back", "r", () => void context.decide(selection, "new"), "primary")
        : html`${renderButton("Acknowledge", "a", () => void context.decide(selection, "acknowledged"), "primary")}
          ${renderButton("Hide", "h", () => void context.decide(selection, "hidden"))}
          ${
            context.route.tab === "all"
              ? renderButton("Put back", "r", () => void context.decide(selection, "new"))
              : nothing
          }`
    }
    ${renderButton("Ticket", "t", () => void context.ask("ticket", selection))}
    ${renderButton("Note", "n", () => void context.ask("note", selection))}
    ${renderButton("Assign", "i", () => void context.ask("assignee", selection))}
    ${partial.length > 0 ? renderButton("Split", "s", () => void context.split(selection)) : nothing}
    ${whole.length + partial.length > 1 ? renderButton("Merge", "m", () => void context.merge(selection)) : nothing}
    ${renderButton("Clear", "Esc", () => context.clearSelection(), "quiet")}
  </div>`;
}

function renderButton(label: string, key: string, run: () => void, kind = "") {
  return html`<button class="button ${kind}" @click=${run}>${label} <kbd>${key}</kbd></button>`;
}
