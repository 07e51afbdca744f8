/** The page of a commit: what changed there or may have, values that stand out, and the runs that measured it. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Change, type CommitReport } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { commitRoute, type CommitRoute } from "../../routes/commit";
import { compareRoute } from "../../routes/compare";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { Resource } from "../../state/resource";
import { timestamp } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { changeTable, saidOnce } from "../../templates/change-table";
import { longName, param } from "../../templates/trace-name";
import { countText, grouped } from "../../text/numbers";
import { causeOf, newestText } from "../../text/findings";
import { commonParams, traceText } from "../../text/trace-names";
import { levelsText } from "../../text/units";

type Run = CommitReport["runs"][number];

@customElement("kp-commit")
export class CommitView extends PageElement {
  @property({ attribute: false }) route: CommitRoute = commitRoute;

  private readonly report = new Resource<readonly [string, string], CommitReport>(this, {
    args: () => [this.route.repository, this.route.hash],
    load: ([repository, hash], signal) => api.commitReport(repository, hash, signal),
    onAnswer: ({ commit }) => (document.title = `${commit.short} ${commit.subject} · Knickpoint`),
  });

  override render() {
    const { value, error } = this.report;
    if (error) return errorNotice(error, () => this.report.reload());
    if (!value) return loadingNotice("Loading the commit");
    return html`${renderHead(value)} ${renderChanges(value)} ${renderVerdicts(value)} ${renderQuarantines(value)}
    ${renderRuns(value)}`;
  }
}

function renderHead({ commit, repository, line, previous, next, compare }: CommitReport) {
  const neighbour = (other: typeof previous, label: string) =>
    other
      ? html`<a class="button small" href=${routeUrl({ ...commitRoute, repository, hash: other.hash })}
          >${label} <code class="hash">${other.short}</code></a
        >`
      : nothing;
  return html`<div class="page-head commit-head">
    <h1>${longName(commit.subject || commit.short)}</h1>
    <p class="faint">
      <code class="hash">${commit.hash}</code> by ${commit.author || "an unknown author"}
      ${commit.time ? html`on ${timestamp(commit.time)}` : nothing}, <bdi>${repository}</bdi>,
      ${commit.position === null ? "not on " : `commit ${grouped(commit.position + 1)} of `} <bdi>${line}</bdi>
    </p>
    <p class="commit-links">
      ${neighbour(previous, "Measured before:")} ${neighbour(next, "Measured after:")}
      ${
        previous && PUBLISHED === undefined
          ? html`<a
              class="button small"
              href=${routeUrl({ ...compareRoute, repository, base: previous.hash, head: commit.hash, line })}
              >Compare the results</a
            >`
          : nothing
      }
      ${outside(commit.url, "Commit on its website")} ${outside(compare, "Compare with the measured one before")}
    </p>
  </div>`;
}

function outside(url: string, text: string) {
  if (!/^https?:/.test(url)) return nothing;
  return html`<a class="button small" href=${url} target="_blank" rel="noreferrer">${text}</a>`;
}

/** The changes of which the commit is named as the cause, and those that began in a range with it. */
function renderChanges({ commit, changes, changes_total, around, around_total, runs_total }: CommitReport) {
  const [here, elsewhere] = [true, false].map((isHere) =>
    [...changes, ...around].filter((change) => (causeOf(change).hash === commit.hash) === isHere),
  ) as [Change[], Change[]];
  const [hereLeft, elsewhereLeft] = [changes_total - changes.length, around_total - around.length];
  const none = runs_total > 0 ? "No alert found a change that begins at this commit." : "No run measured this commit.";
  return html`<section class="part">
      <h2>What changed here</h2>
      ${here.length > 0 ? changeTable(here, { commit: false, status: true, label: "What changed here" }) : html`<p>${none}</p>`}
      ${more(here.length, here.length + hereLeft)}
    </section>
    ${
      elsewhere.length > 0
        ? html`<section class="part">
            <h2>What may have changed here</h2>
            <p class="faint">
              Not every commit was measured: these changes began here, or at another commit of their range.
            </p>
            ${changeTable(elsewhere, { status: true, label: "What may have changed here" })}
            ${more(elsewhere.length, elsewhere.length + elsewhereLeft)}
          </section>`
        : nothing
    }`;
}

function more(shown: number, total: number) {
  return total > shown ? html`<p class="faint">The largest ${shown} of ${grouped(total)}.</p>` : nothing;
}

function renderVerdicts({ verdicts, verdicts_total }: CommitReport) {
  if (verdicts.length === 0) return nothing;
  const common = commonParams(verdicts.map(({ trace }) => trace.params));
  return html`<section class="part">
    <h2>Outlying values</h2>
    <p class="faint">
      They are the newest of their traces and lie outside of the noise of the level before. Later values decide whether
      the level changed.
    </p>
    ${saidOnce(verdicts[0]?.trace.params, common)}
    <div class="wide">
      <table class="records" aria-label="Outlying values">
        <thead>
          <tr>
            <th scope="col">Verdict</th>
            <th scope="col">Trace</th>
            <th scope="col">Level → value</th>
          </tr>
        </thead>
        <tbody>
          ${verdicts.map(
            ({ trace, verdict, value, centre, relative_size }) =>
              html`<tr>
                <td data-label="Verdict">
                  ${verdict}${
                    centre === null ? nothing : html`: ${newestText({ value, centre, relative_size }, trace)}`
                  }
                </td>
                <th scope="row" data-label="Trace">
                  <a href=${routeUrl(traceRoute(trace.id))}><bdi>${longName(traceText(trace.params, common))}</bdi></a>
                </th>
                <td class="figure" data-label="Level → value">
                  ${centre === null ? nothing : levelsText(centre, value, trace.unit)}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${more(verdicts.length, verdicts_total)}
  </section>`;
}

function renderQuarantines({ quarantines }: CommitReport) {
  if (quarantines.length === 0) return nothing;
  return html`<section class="part">
    <h2>Quarantined results</h2>
    <ul>
      ${quarantines.map(
        ({ run, machine, state, reason, outcome }) =>
          html`<li>
            <strong>${state}</strong>: <bdi>${run}</bdi> ${machine ? html`on <bdi>${machine}</bdi>` : nothing}:
            ${reason} ${outcome ? html`<span class="faint">${outcome}</span>` : nothing}
          </li>`,
      )}
    </ul>
  </section>`;
}

function renderRuns({ runs, runs_total, points }: CommitReport) {
  if (runs.length === 0) return nothing;
  const common = commonParams(runs.map(({ environment }) => environment));
  const hasLinks = runs.some((run) => linksOf(run).length > 0);
  const hasFacts = runs.some((run) => factsOf(run, common).length > 0);
  return html`<section class="part">
    <h2>Runs</h2>
    <p class="faint">${countText(runs_total, "run")} gave ${countText(points, "value")}.</p>
    ${saidOnce(runs[0]?.environment, common)}
    <div class="wide">
      <table class="records" aria-label="Runs">
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Ran</th>
            <th scope="col">Imported</th>
            ${hasFacts ? html`<th scope="col">Environment</th>` : nothing}
            ${hasLinks ? html`<th scope="col">Links</th>` : nothing}
          </tr>
        </thead>
        <tbody>
          ${runs.map((run) => renderRun(run, hasFacts ? factsOf(run, common) : undefined, hasLinks))}
        </tbody>
      </table>
    </div>
    ${runs_total > runs.length ? html`<p class="faint">The first ${runs.length} of ${grouped(runs_total)}.</p>` : nothing}
  </section>`;
}

type Facts = readonly (readonly [name: string, value: string])[];

function linksOf({ links }: Run): Facts {
  return Object.entries(links).filter(([, url]) => /^https?:/.test(url));
}

/** What is said of a run beside what all runs share: its environment, and the commits of other repositories. */
function factsOf({ environment, revisions }: Run, common: ReadonlySet<string>): Facts {
  return [...Object.entries(environment).filter(([name]) => !common.has(name)), ...Object.entries(revisions)];
}

/** A row without the columns that no run needs. */
function renderRun(run: Run, facts: Facts | undefined, hasLinks: boolean) {
  return html`<tr>
    <th scope="row" data-label="Source">
      <bdi>${run.source}</bdi>
      <span class="faint"
        >${run.branch ? html`on <bdi>${run.branch}</bdi>` : nothing}
        ${run.corrections > 0 ? `corrected ${countText(run.corrections, "time")}` : nothing}
        ${run.without_value > 0 ? `${countText(run.without_value, "benchmark")} without a value` : nothing}</span
      >
    </th>
    <td data-label="Ran">${run.time ? timestamp(run.time) : html`<span class="faint">unknown</span>`}</td>
    <td data-label="Imported">${timestamp(run.created)}</td>
    ${
      facts &&
      html`<td data-label="Environment"><span>${facts.map(([name, value]) => html`${param(name, value)} `)}</span></td>`
    }
    ${
      hasLinks
        ? html`<td data-label="Links">
            <span
              >${linksOf(run).map(
                ([name, url]) => html`<a href=${url} target="_blank" rel="noreferrer"><bdi>${name}</bdi></a> `,
              )}</span
            >
          </td>`
        : nothing
    }
  </tr>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-commit": CommitView;
  }
}
