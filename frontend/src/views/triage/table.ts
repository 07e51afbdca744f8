/** The table of the triage page: a row for each change, followed by its findings if it is expanded. */

import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { ChangeList } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import type { Tab } from "../../routes/triage";
import { freshnessText } from "../../state/freshness";
import { MOST_ROWS } from "../../state/triage/row-window";
import { checkState, cursorIndex, type Row } from "../../state/triage/rows";
import { directionKey } from "../../templates/finding";
import { countText } from "../../text/numbers";
import type { TriageContext } from "./context";
import { renderRow, rowInputs, showsDecisions } from "./table-rows";

interface Column {
  /** The class of its cells without the `c-`. */
  name: string;
  sorts: readonly { by: string; label: string; first: "-" | "" }[];
}

const COLUMNS: readonly Column[] = [
  {
    name: "change",
    sorts: [
      { by: "change", label: "Change", first: "-" },
      { by: "found", label: "Found", first: "-" },
    ],
  },
  {
    name: "subject",
    sorts: [
      { by: "subject", label: "Commit", first: "" },
      { by: "author", label: "Author", first: "" },
      { by: "date", label: "Date", first: "-" },
    ],
  },
  { name: "date", sorts: [{ by: "date", label: "Date", first: "-" }] },
  { name: "hazard", sorts: [{ by: "hazard", label: "Hazard", first: "-" }] },
  { name: "traces", sorts: [{ by: "traces", label: "Traces", first: "-" }] },
];

const CAPTIONS: Record<Tab, string> = {
  unprocessed: "Unprocessed",
  processed: "Processed",
  history: "Unprocessed historical",
  all: "All",
  gone: "Gone",
};

const UNPROCESSED_KEYS = html`${key("x")} select · ${key("a")} acknowledge · ${key("h")} hide · ${key("u")} undo ·`;

/** The most useful keys of each tab, for the line below the table. */
const TAB_KEYS: Record<Tab, TemplateResult> = {
  unprocessed: UNPROCESSED_KEYS,
  history: UNPROCESSED_KEYS,
  processed: html`${key("x")} select · ${key("r")} put back · ${key("u")} undo ·`,
  all: html`${UNPROCESSED_KEYS} ${key("t")} ticket · ${key("n")} note ·`,
  gone: html`${key("p")} back ·`,
};

export function renderTable(context: TriageContext, data: ChangeList, rows: readonly Row[]) {
  const { tab, at } = context.route;
  const cursor = cursorIndex(rows, at);
  return html`<table
      class="findings ${showsDecisions(tab) ? "decisions" : ""} ${PUBLISHED ? "read-only" : ""}"
      aria-rowcount=${rows.length + 1}
    >
      <caption class="sr-only">
        ${CAPTIONS[tab]} findings, grouped by commit
      </caption>
      <thead>
        <tr aria-rowindex="1">
          <th class="c-tick" scope="col">
            ${
              tab === "gone" || !context.decides
                ? html`<span class="sr-only">Selection</span>`
                : renderSelectAll(context, rows)
            }
          </th>
          ${COLUMNS.map((column) => renderHeading(context, column))}
          ${
            showsDecisions(tab)
              ? html`<th class="c-decision" scope="col">Decision</th>`
              : html`<th class="c-lead" scope="col">Leading trace</th>`
          }
          <th class="c-spark" scope="col">Values</th>
          <th class="c-act" scope="col"><span class="sr-only">Decide</span></th>
        </tr>
      </thead>
      <tbody>
        ${renderRows(context, rows, cursor)}
      </tbody>
    </table>
    ${renderFoot(context, data, rows.length)}`;
}

/** A row, or a gap in place of several. */
interface Part {
  id: string;
  row?: Row;
  from: number;
  to: number;
}

/** The rows near the view, and a gap for each stretch of others: a page may have thousands. */
function renderRows(context: TriageContext, rows: readonly Row[], cursor: number) {
  const { rowWindow } = context;
  const parts = rowWindow.stretches(rows.length, cursor).flatMap(({ from, to, shown }, number): Part[] => {
    if (!shown) return [{ id: `gap ${number}`, from, to }];
    return rows.slice(from, to).map((row, at) => ({ id: row.id, row, from: from + at, to: from + at + 1 }));
  });
  return repeat(
    parts,
    ({ id }) => id,
    ({ row, from: index, to }) => {
      if (!row) return renderGap(index, to - index, rowWindow.rowHeight);
      const place = { index, current: index === cursor };
      // Render those rows again of which an input changed.
      return guard(rowInputs(context, row, place), () => renderRow(context, row, place));
    },
  );
}

function renderGap(from: number, number: number, rowHeight: number) {
  return html`<tr class="gap" aria-hidden="true" data-from=${from} data-rows=${number}>
    <td colspan="9" .style=${`height: ${number * rowHeight}px`}></td>
  </tr>`;
}

function renderSelectAll(context: TriageContext, rows: readonly Row[]) {
  const decidable = rows.filter((row) => context.mayDecide(row.change.repository));
  const all = decidable.length > 0 && decidable.every((row) => checkState(row, context.selection) === "all");
  return html`<input
    type="checkbox"
    aria-label="Select all change points on this page"
    .checked=${all}
    .indeterminate=${context.selection.size > 0 && !all}
    @click=${() => context.toggleRows(decidable)}
  />`;
}

function renderHeading(context: TriageContext, column: Column) {
  const { sort } = context.route;
  const by = sort.replace("-", "");
  const descending = sort.startsWith("-");
  // Narrow windows sort by date in the heading of the commit; the column of the date has the mark.
  const sorted = column.sorts.some((option) => option.by === by) && (by !== "date" || column.name === "date");
  return html`<th
    class="c-${column.name}"
    scope="col"
    aria-sort=${sorted ? (descending ? "descending" : "ascending") : "none"}
  >
    ${column.sorts.map((option, index) => {
      const onlyNarrow = option.by === "date" && column.name !== "date";
      return html`<button
        class="sort ${index > 0 ? "faint" : ""} ${onlyNarrow ? "when-narrow" : ""}"
        @click=${() => context.sortBy(option.by, option.first)}
      >
        ${option.label}<span class="sort-mark" aria-hidden="true"
          >${option.by === by ? (descending ? "↓" : "↑") : ""}</span
        >
      </button>`;
    })}
  </th>`;
}

function renderFoot({ route, freshness, decides }: TriageContext, data: ChangeList, rows: number) {
  return html`<p class="foot">
    <span class="hint"
      >${key("j")} ${key("k")} move · ${decides || route.tab === "gone" ? TAB_KEYS[route.tab] : nothing} ${key("Enter")}
      open · ${key("w")} why · ${key("?")} all keys</span
    >
    ${rows > MOST_ROWS ? html`<span>The browser's own search sees nearby rows only; ${key("/")} filters all.</span>` : nothing}
    ${directionKey()}
    <span class="spring"></span>
    ${freshness ? html`<span>${freshnessText(freshness.alerts)}</span>` : nothing}
    <span>${countText(data.total, "change")}</span>
  </p>`;
}

function key(name: string): TemplateResult {
  return html`<kbd>${name}</kbd>`;
}
