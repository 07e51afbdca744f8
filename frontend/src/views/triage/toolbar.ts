/** The tools above and below the list: tabs, filters, pages, what to do with a selection. */

import { html, nothing } from "lit";
import type { Regressions } from "../../api/client";
import { writeAddress, type Tab } from "../../routes/routes";
import { countOf, groupsOf } from "../../state/triage/selection";
import { grouped } from "../../text/numbers";
import { count, statusWord } from "../../text/findings";
import type { Desk } from "./context";

const SIZES = [50, 100, 200, 500];
const LEAST = [0, 1, 2, 5, 10, 25, 100];
const DECIDED = ["acknowledged", "hidden", "ticket"] as const;

export function renderTools(desk: Desk) {
  const { address, data } = desk;
  const { tab: now, filter, direction, status, least } = address;
  const tab = (own: Tab, label: string, number: number | undefined) =>
    html`<a
      class="tab"
      href=${writeAddress({ ...address, tab: own, status: "", page: 1, open: [], at: "" })}
      aria-current=${own === now ? "page" : "false"}
      >${label}${number === undefined ? nothing : html`<span class="badge">${grouped(number)}</span>`}</a
    >`;
  return html`<div class="tools">
    <nav class="tabs" aria-label="Findings">
      ${tab("unprocessed", "Unprocessed", data?.unprocessed)} ${tab("processed", "Processed", data?.processed)}
      ${data?.history || now === "history" ? tab("history", "History", data?.history) : nothing}
      ${data?.gone || now === "gone" ? tab("gone", "Gone", data?.gone) : nothing}
    </nav>
    <span class="busy ${desk.busy && data ? "on" : ""}" aria-hidden="true"></span>
    <span class="spring"></span>
    ${
      desk.repositories.length > 1
        ? select(
            "Repository",
            address.repository,
            [["", "All repositories"], ...desk.repositories.map((own) => [own.name, own.name] as const)],
            (repository) => desk.change({ repository, page: 1, at: "" }),
          )
        : nothing
    }
    ${select(
      "Direction",
      direction,
      [
        ["", "Worse and better"],
        ["regression", "Worse only"],
        ["improvement", "Better only"],
      ],
      (chosen) => desk.change({ direction: chosen, page: 1, at: "" }),
    )}
    ${select(
      "Least change",
      String(least),
      [...new Set([...LEAST, least])]
        .sort((a, b) => a - b)
        .map((own) => [String(own), own === 0 ? "Any size" : `From ${own} %`] as const),
      (chosen) => desk.change({ least: Number(chosen), page: 1, at: "" }),
    )}
    ${
      now === "processed"
        ? select(
            "State",
            status,
            [["", "Any state"], ...DECIDED.map((own) => [own, statusWord[own]] as const)],
            (chosen) => desk.change({ status: chosen, page: 1, at: "" }),
          )
        : nothing
    }
    <label class="search"
      ><span class="sr-only">Filter by words of the commit or the trace, or by name=value</span>
      <input
        id="filter"
        type="search"
        placeholder="Filter by commit, author, trace"
        .value=${filter}
        autocomplete="off"
        spellcheck="false"
        @input=${(event: InputEvent) => desk.typeFilter((event.target as HTMLInputElement).value)}
        @keydown=${(event: KeyboardEvent) => onFilterKey(desk, event)}
      /><kbd aria-hidden="true">/</kbd></label
    >
  </div>`;
}

function select(
  label: string,
  now: string,
  options: readonly (readonly [string, string])[],
  run: (value: string) => void,
) {
  return html`<label class="select"
    ><span class="sr-only">${label}</span>
    <select @change=${(event: Event) => run((event.target as HTMLSelectElement).value)}>
      ${options.map(([value, text]) => html`<option value=${value} ?selected=${value === now}>${text}</option>`)}
    </select></label
  >`;
}

function onFilterKey(desk: Desk, event: KeyboardEvent): void {
  const input = event.target as HTMLInputElement;
  if (event.key === "Escape" || event.key === "Enter") input.blur();
  if (event.key === "Escape" && input.value) {
    input.value = "";
    desk.typeFilter("");
  }
}

/** What keeps the list from being up to date. */
export function renderTroubles(desk: Desk) {
  const troubles = desk.freshness?.troubles ?? [];
  if (troubles.length === 0) return nothing;
  return html`<ul class="troubles" role="status" aria-label="Troubles">
    ${troubles.map((trouble) => html`<li>${trouble}</li>`)}
  </ul>`;
}

export function renderPages(desk: Desk, data: Regressions) {
  const { address } = desk;
  if (data.pages <= 1 && data.groups_total <= Math.min(...SIZES)) return nothing;
  const link = (page: number, label: string, key: string, on: boolean) =>
    on
      ? html`<a class="button small" href=${writeAddress({ ...address, page, at: "" })}>${label} <kbd>${key}</kbd></a>`
      : html`<span class="button small" aria-disabled="true">${label} <kbd>${key}</kbd></span>`;
  return html`<nav class="pages" aria-label="Pages">
    ${link(data.page - 1, "Back", "[", data.page > 1)}
    <span>page ${data.page} of ${data.pages}, ${count(data.groups_total, "commit")}</span>
    ${link(data.page + 1, "Next", "]", data.page < data.pages)}
    ${select(
      "Commits on a page",
      String(address.size),
      [...new Set([...SIZES, address.size])]
        .sort((a, b) => a - b)
        .map((own) => [String(own), `${own} on a page`] as const),
      (size) => desk.change({ size: Number(size), page: 1, at: "" }),
    )}
  </nav>`;
}

export function renderSelection(desk: Desk) {
  const { selected } = desk;
  const groups = desk.data?.groups ?? [];
  const { whole, parts } = groupsOf(groups, selected);
  const processed = desk.address.tab === "processed";
  const button = (label: string, letter: string, run: () => void, kind = "") =>
    html`<button class="button ${kind}" @click=${run}>${label} <kbd>${letter}</kbd></button>`;
  return html`<div class="selection" role="region" aria-label="Selection">
    <strong aria-live="polite">${count(countOf(groups, selected), "finding")} selected</strong>
    ${
      processed
        ? button("Put back", "r", () => void desk.decideAbout(selected, "new"), "primary")
        : button("Acknowledge", "a", () => void desk.decideAbout(selected, "acknowledged"), "primary")
    }
    ${processed ? nothing : button("Hide", "h", () => void desk.decideAbout(selected, "hidden"))}
    ${button("Ticket", "t", () => void desk.askTicket(selected))}
    ${button("Note", "n", () => void desk.askNote(selected))}
    ${parts.length > 0 ? button("Set apart", "s", () => void desk.setApart(selected)) : nothing}
    ${whole.length + parts.length > 1 ? button("Merge", "m", () => void desk.merge(selected)) : nothing}
    ${button("Clear", "Esc", () => desk.clearSelection(), "quiet")}
  </div>`;
}
