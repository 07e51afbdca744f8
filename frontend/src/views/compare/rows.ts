/** The table of compared traces: the worst first, in a part for each suite, or sorted by a column; rows open to their values. */

import { html, nothing, type TemplateResult } from "lit";
import type { Comparison, JudgedBenchmark } from "../../api/client";
import type { CompareRoute } from "../../routes/compare";
import { exploreRoute } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { longName } from "../../templates/trace-name";
import {
  changeWithInterval,
  comparedLevels,
  detectableText,
  measureCommand,
  sideName,
  verdictCounts,
} from "../../text/comparison";
import { countText } from "../../text/numbers";
import { traceQuery } from "../../text/query";
import { commonParams, traceText } from "../../text/trace-names";
import { changeBar, drawDistributions, reachOf, valueList } from "./sides";
import { rowKey, selectRows, type ComparedRow } from "./selected-rows";

export interface TableActions {
  isOpen: (key: string) => boolean;
  toggle: (key: string) => void;
  sort: (by: string) => void;
  /** How many rows are shown at most. */
  most: number;
}

interface Column {
  name: string;
  /** What the address calls it; "" where the rows are not sorted by it. */
  by: string;
  title?: string;
}

const DETECTABLE_TITLE =
  "The smallest change that four of five such comparisons would show. Smaller ones may be there unseen.";

function columnsOf(found: readonly Comparison[]): Column[] {
  const [only, ...others] = found;
  if (!only || others.length > 0) {
    const changes = found.map(({ head }, index) => ({ name: `Change at ${sideName(head)}`, by: `change${index}` }));
    return [{ name: "Trace", by: "trace" }, { name: "Before", by: "before" }, ...changes];
  }
  return [
    { name: "Verdict", by: "verdict" },
    { name: "Trace", by: "trace" },
    { name: "Change", by: "change0" },
    { name: "Before → after", by: "before" },
    { name: "Reliably detectable", by: "detectable", title: DETECTABLE_TITLE },
  ];
}

export function comparedTable(found: readonly Comparison[], route: CompareRoute, actions: TableActions) {
  const [first] = found;
  if (!first) return nothing;
  const all = selectRows(found, route);
  const rows = all.slice(0, actions.most);
  const columns = columnsOf(found);
  const common = commonParams(all.map(({ row }) => row.params));
  // Sorted by a column, or filtered, the rows are one list.
  const by = route.sort || found.length > 1 ? "" : first.by;
  const hidden = by ? new Set([...common, by]) : common;
  const reach = reachOf(all.flatMap(({ heads }) => heads.flatMap((each) => each ?? [])));
  const body = (some: readonly ComparedRow[]) =>
    some.map((each) => traceRows(each, { hidden, route, reach, found, columns: columns.length + 1, actions }));
  return html`<div class="wide">
    <table class="records compared" aria-label="Compared traces">
      <thead>
        <tr>
          <td class="opener"></td>
          ${columns.map((column) => columnHead(column, route.sort, actions))}
        </tr>
      </thead>
      ${
        by
          ? first.suites.map(({ name, counts }) => {
              const some = rows.filter(({ row }) => row.suite === name);
              return some.length === 0 && (route.match || route.verdict)
                ? nothing
                : html`<tbody>
                    <tr class="suite">
                      <th scope="rowgroup" colspan=${columns.length + 1}>
                        ${name ? html`<bdi>${name}</bdi>` : `without ${by}`}
                        <span class="second">${verdictCounts(counts)}</span>
                      </th>
                    </tr>
                    ${body(some)}
                  </tbody>`;
            })
          : html`<tbody>
              ${body(rows)}
            </tbody>`
      }
    </table>
  </div>`;
}

function columnHead({ name, by, title }: Column, sorted: string, { sort }: TableActions) {
  const isSorted = sorted === by || sorted === `-${by}`;
  const order = !isSorted ? "none" : sorted.startsWith("-") ? "descending" : "ascending";
  // A press sorts upwards, another one downwards, and a third one by what is worst.
  const next = { none: by, ascending: `-${by}`, descending: "" }[order];
  return html`<th scope="col" aria-sort=${order} title=${title ?? nothing}>
    <button class="sort" @click=${() => sort(next)}>
      ${name} <span aria-hidden="true">${{ none: "", ascending: "▲", descending: "▼" }[order]}</span>
    </button>
  </th>`;
}

interface RowContext {
  hidden: ReadonlySet<string>;
  route: CompareRoute;
  reach: number;
  found: readonly Comparison[];
  columns: number;
  actions: TableActions;
}

function verdictWord(row: JudgedBenchmark): TemplateResult {
  return html`<span class="verdict ${row.verdict.replace(" ", "-")}" title=${row.reason}>${row.verdict}</span>`;
}

function changeCell(row: JudgedBenchmark | undefined, reach: number, label: string, isAlone: boolean) {
  if (!row) return html`<td data-label=${label}><span class="faint">not compared</span></td>`;
  return html`<td class="figure" data-label=${label}>
    <div class="change-cell">
      ${changeBar(row, reach)}
      <span
        >${isAlone ? nothing : html`${verdictWord(row)} `}${
          changeWithInterval(row) || html`<span class="faint">${row.reason}</span>`
        }</span
      >
    </div>
  </td>`;
}

function traceRows({ row, heads }: ComparedRow, context: RowContext) {
  const { hidden, route, reach, found, columns, actions } = context;
  const key = rowKey(row);
  const isOpen = actions.isOpen(key);
  const name = html`<bdi>${longName(traceText(row.params, hidden) || traceText(row.params))}</bdi>`;
  const isAlone = found.length === 1;
  const opener = html`<td class="opener">
    <button
      class="icon"
      aria-expanded=${isOpen ? "true" : "false"}
      aria-label="Values of ${traceText(row.params)}"
      @click=${() => actions.toggle(key)}
    >
      <span aria-hidden="true">${isOpen ? "▾" : "▸"}</span>
    </button>
  </td>`;
  const trace = html`<th scope="row" data-label="Trace">
    ${
      row.trace_id === null
        ? html`${name}
            <div class="second">not in the history</div>`
        : html`<a href=${traceUrl(row, found[0], route)}>${name}</a>`
    }
  </th>`;
  const changes = heads.map((each, index) =>
    changeCell(each, reach, isAlone ? "Change" : `Change at ${sideName(found[index]?.head ?? NO_SIDE)}`, isAlone),
  );
  return html`<tr>
      ${opener}
      ${
        isAlone
          ? html`<td data-label="Verdict">${verdictWord(row)} ${verdictNotes(row)}</td>
              ${trace} ${changes}
              <td class="figure" data-label="Before → after">${comparedLevels(row)}</td>
              <td class="figure faint" data-label="Reliably detectable">${detectableText(row)}</td>`
          : html`${trace}
              <td class="figure" data-label="Before">
                ${row.before === null ? "" : valueList([row.before], row.unit)}
              </td>
              ${changes}`
      }
    </tr>
    ${
      isOpen
        ? html`<tr class="opened">
            <td colspan=${columns}>${heads.map((each, index) => each && openedRow(each, found[index], route))}</td>
          </tr>`
        : nothing
    }`;
}

const NO_SIDE: Comparison["base"] = { line: "", commit: null, file: "", runs: 0 };

function verdictNotes(row: JudgedBenchmark) {
  return html`${row.attribution ? html`<div class="second">${row.attribution}</div>` : nothing}
  ${row.conditional ? html`<div class="second">measure again</div>` : nothing}
  ${row.accepted === null ? nothing : html`<div class="second">accepted: <bdi>${row.accepted}</bdi></div>`}
  ${row.decides ? nothing : html`<div class="second">${row.canary ? "canary: no commit should change it" : "beside the main value"}</div>`}`;
}

function traceUrl(row: JudgedBenchmark, found: Comparison | undefined, { headLine, line }: CompareRoute): string {
  const commit = found?.head.commit?.position ?? undefined;
  return routeUrl({ ...traceRoute(row.trace_id ?? 0, commit === undefined ? {} : { commit }), line: headLine || line });
}

/** Both distributions and the values of a row, why it has its verdict, and where to go on. */
function openedRow(row: JudgedBenchmark, found: Comparison | undefined, route: CompareRoute) {
  if (!found) return nothing;
  const { past, new: fresh, unit, trace_id: id, p_value: p } = row;
  const command = measureCommand(found);
  return html`<div class="opened-row">
    <div>
      ${drawDistributions(row)}
      <p class="second">
        Above ${countText(past.length, "value")} up to the base, below ${countText(fresh.length, "new value")} of
        ${sideName(found.head)}; lines are the levels.
      </p>
    </div>
    <dl class="facts">
      <dt>${row.verdict}</dt>
      <dd>${row.reason}${p === null ? nothing : html`; p = ${p.toPrecision(2)}`}</dd>
      <dt>New</dt>
      <dd class="figure">${valueList(fresh, unit) || "no values"}</dd>
      <dt>Base</dt>
      <dd class="figure">${valueList(past.slice(-20), unit) || "no values"}</dd>
      <dt>More</dt>
      <dd>
        ${
          id === null
            ? nothing
            : html`<a href=${traceUrl(row, found, route)}>Open the trace</a>,
                <a href=${routeUrl({ ...exploreRoute, repository: found.repository, query: traceQuery(row.params) })}
                  >explore it</a
                >${command ? "; " : ""}`
        }
        ${command ? html`measure both commits again: <code>${command}</code>` : nothing}
      </dd>
    </dl>
  </div>`;
}
