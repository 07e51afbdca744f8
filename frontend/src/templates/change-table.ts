/** A table of changes, each with its top trace; what all their names share is said once. */

import { html, nothing } from "lit";
import type { Commit, Change } from "../api/client";
import { findingSparkline } from "../charts/sparkline";
import { changeRoute } from "../routes/change";
import { routeUrl } from "../routes/routes";
import { traceRoute } from "../routes/trace";
import { triageRoute } from "../routes/triage";
import { causeOf } from "../text/findings";
import { grouped } from "../text/numbers";
import { commonParams, traceText } from "../text/trace-names";
import { commitHash, date } from "./commit";
import { causeNote, changeHeadline, conditionTag, standing } from "./finding";
import { longName } from "./trace-name";

/** The short hash of a commit, linked to its page in the dashboard, with its subject. */
export function commitLink(commit: Commit, repository: string) {
  return html`<span>${commitHash(commit, repository)} ${longName(commit.subject)}</span>`;
}

/** "In common: arch=arm64 os=linux": the params that several traces share, of one repository if it is named. */
export function saidOnce(params: Record<string, string> = {}, common: ReadonlySet<string>, repository = "") {
  if (common.size === 0) return nothing;
  const pairs = [...common].map((name) => `${name}=${params[name] ?? ""}`);
  return html`<p class="faint">
    In common${repository && html` in <bdi>${repository}</bdi>`}: <bdi>${pairs.join(" ")}</bdi>
  </p>`;
}

/** The params of the top traces of changes, by repository: what the traces of one share is said once. */
function leadsOf(changes: readonly Change[]): Map<string, { params: Record<string, string>; common: Set<string> }> {
  const all = new Map<string, Record<string, string>[]>();
  for (const { repository, members } of changes)
    for (const { trace } of members.slice(0, 1)) all.set(repository, [...(all.get(repository) ?? []), trace.params]);
  return new Map([...all].map(([name, params]) => [name, { params: params[0] ?? {}, common: commonParams(params) }]));
}

interface Columns {
  /** Whether the commit of each one is named. */
  commit?: boolean;
  /** Whether the repository of each one is named. */
  repository?: boolean;
  /** Whether the status of the lead is shown. */
  status?: boolean;
  label: string;
}

export function changeTable(changes: readonly Change[], { commit: named = true, repository, status, label }: Columns) {
  const leads = leadsOf(changes);
  return html`${[...leads].map(([name, { params, common }]) => saidOnce(params, common, leads.size > 1 ? name : ""))}
    <div class="wide">
      <table class="records" aria-label=${label}>
        <thead>
          <tr>
            <th scope="col">Change</th>
            <th scope="col">Top trace</th>
            ${
              named
                ? html`<th scope="col">Commit</th>
                    <th scope="col">Date</th>`
                : nothing
            }
            ${status ? html`<th scope="col">Status</th>` : nothing}
            <th scope="col" class="number">Traces</th>
            <th scope="col">Values</th>
          </tr>
        </thead>
        <tbody>
          ${changes.map((change) => {
            const { id, statement, suspect_range: range, commit, traces, repository: name } = change;
            const [lead] = change.members;
            const cause = causeOf(change);
            const note = causeNote(statement, range.commits);
            return (
              lead &&
              html`<tr>
                <td data-label="Change">
                  <span
                    ><a href=${routeUrl(changeRoute(id))}>${changeHeadline(change)}</a> ${conditionTag(statement, name)}
                    ${named ? nothing : note}</span
                  >
                </td>
                <th scope="row" data-label="Trace">
                  <a href=${routeUrl(traceRoute(lead.trace.id))}
                    ><bdi>${longName(traceText(lead.trace.params, leads.get(name)?.common ?? new Set()))}</bdi></a
                  >
                </th>
                ${
                  named
                    ? html`<td data-label="Commit">
                          <span
                            >${commitLink(cause, name)} ${note}
                            ${repository ? html`<span class="faint">· <bdi>${name}</bdi></span>` : nothing}</span
                          >
                        </td>
                        <td data-label="Date">${date(cause.time)}</td>`
                    : nothing
                }
                ${status ? html`<td data-label="Status">${standing(lead)}</td>` : nothing}
                <td class="number figure" data-label="Traces">
                  <a href=${routeUrl({ ...triageRoute, tab: tabOf(lead), filter: commit.hash, open: [id] })}
                    >${grouped(traces)}<span class="sr-only"> in triage</span></a
                  >
                </td>
                <td data-label="Values">${findingSparkline(lead)}</td>
              </tr>`
            );
          })}
        </tbody>
      </table>
    </div>`;
}

/** The tab of triage that lists a finding. */
function tabOf({ condition, status, history }: Change["members"][number]) {
  if (condition === "gone") return "gone";
  if (status !== "new") return "processed";
  return history ? "history" : "unprocessed";
}
