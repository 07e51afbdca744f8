/** Which of the newest commits have which benchmarks: a row for each suite, a cell for each commit. */

import { html, nothing, svg } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Commits, type Trend, type Trends } from "../../api/client";
import { PageElement } from "../../page-element";
import { Resource } from "../../state/resource";
import { date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { commitLink } from "../../templates/change-table";
import { longName } from "../../templates/trace-name";
import { percentText } from "../../text/numbers";
import { commonPrefixLength } from "../../text/trace-names";
import { tracesText } from "../../text/trends";

/** As many as the sums have points, so that each commit has one. */
const COMMITS = 60;
const LISTED = 8;
const CELL = 10;
const HEIGHT = 18;

@customElement("kp-coverage")
export class Coverage extends PageElement {
  @property() repository = "";

  private readonly trends = new Resource<readonly [string], readonly [Trends, Commits]>(this, {
    args: () => [this.repository],
    load: async ([repository], signal) => {
      const trends = await api.trends({ repository, query: "", by: "", commits: COMMITS }, signal);
      return [trends, await api.commits(repository, trends.line, trends.first, COMMITS)];
    },
  });

  override render() {
    const { value, error } = this.trends;
    if (error) return errorNotice(error, () => this.trends.reload());
    if (!value) return loadingNotice("Looking at the newest commits");
    const [trends, { commits }] = value;
    const { total, parts, by } = trends;
    const shared = commonPrefixLength(parts.map((part) => part.value));
    return html`<p class="inner">
        The share of the traces that have a value, at the last ${total.measured.length} commits (${tracesText(total)}).
        A full cell has all of them, an empty one none.
      </p>
      <table class="records coverage" aria-label="Coverage by suite">
        <thead>
          <tr>
            <th scope="col">${by || "All"}</th>
            <th scope="col">Oldest to newest commit</th>
            <th scope="col" class="number">Commits with values</th>
          </tr>
        </thead>
        <tbody>
          ${(parts.length > 0 ? parts : [total]).map(
            (part) =>
              html`<tr>
                <th scope="row" data-label=${by || "All"}>
                  <bdi
                    >${part.value ? longName(part.value, shared) : parts.length > 0 ? `without ${by}` : "all traces"}</bdi
                  >
                </th>
                <td data-label="Oldest to newest commit">${renderCells(part)}</td>
                <td class="number figure" data-label="Commits with values">
                  ${part.measured.filter((share) => share > 0).length} of ${part.measured.length}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${this.renderNewest(trends, commits)}`;
  }

  private renderNewest({ positions, total }: Trends, commits: Commits["commits"]) {
    const shares = new Map(positions.map((position, index) => [position, total.measured[index] ?? 0]));
    const newest = [...commits].reverse().slice(0, LISTED);
    return html`<table class="records" aria-label="Newest commits">
      <thead>
        <tr>
          <th scope="col">Commit</th>
          <th scope="col">Date</th>
          <th scope="col" class="number">Traces with a value</th>
        </tr>
      </thead>
      <tbody>
        ${newest.map((commit) => {
          const share = commit.position === null ? undefined : shares.get(commit.position);
          return html`<tr>
            <td data-label="Commit">${commitLink(commit, this.repository)}</td>
            <td data-label="Date">${date(commit.time)}</td>
            <td class="number figure" data-label="Traces with a value">
              ${share === undefined ? nothing : share === 0 ? "none" : percentText(share)}
            </td>
          </tr>`;
        })}
      </tbody>
    </table>`;
  }
}

function renderCells({ measured }: Pick<Trend, "measured">) {
  const width = measured.length * CELL;
  return html`<svg class="cells" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
    ${measured.map(
      (share, index) =>
        svg`<rect x=${index * CELL + 0.5} y="0.5" width=${CELL - 1} height=${HEIGHT - 1} fill-opacity=${share}></rect>`,
    )}
  </svg>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-coverage": Coverage;
  }
}
