/** The panel of the pinned commit: what it is, its runs, and the suspect range of the change that begins there. */

import { PUBLISHED } from "../../api/published-data";
import { html, nothing } from "lit";
import type { ChangePoints, Commit, Finding, Run, Statement } from "../../api/client";
import { compareRoute } from "../../routes/compare";
import { routeUrl } from "../../routes/routes";
import { triageRoute, type Tab } from "../../routes/triage";
import { commitHash } from "../../templates/commit";
import { longName, param } from "../../templates/trace-name";
import { timestampText } from "../../text/dates";
import { countText, grouped } from "../../text/numbers";
import { originText } from "../../text/samples";
import { valueText } from "../../text/units";
import { changeAt, type TraceContext } from "./context";
import { renderMissedButton } from "./missed";
import { renderQuarantined } from "./quarantined";
import { zoomToCommit } from "./shortcuts";
import { renderSuspects } from "./suspects";
import { renderDelta, renderEnvironmentFacts } from "./tooltip";

export function renderCommitPanel(context: TraceContext, changes: ChangePoints) {
  const { commit, route } = context;
  return html`<section aria-labelledby="commit-title" class="panel">
    <h2 id="commit-title">Commit</h2>
    ${
      commit && route.commit !== undefined
        ? html`${renderFacts(context, changes, commit, route.commit)}${renderMissedButton(context, route.commit, commit.hash)}${renderSuspectsOf(context, route.commit)}`
        : html`<p class="faint">Click a value, or press ← and →, to see its commit.</p>`
    }
  </section>`;
}

function renderSuspectsOf(context: TraceContext, position: number) {
  const finding = changeAt(context, position);
  return renderSuspects(finding, finding && context.statementOf(finding), context.suspects);
}

function renderFacts(context: TraceContext, changes: ChangePoints, commit: Commit, position: number) {
  const finding = changeAt(context, position);
  const environments = context.environments.filter((environment) => environment.position === position);
  return html`${commit.subject ? html`<p class="commit-subject">${longName(commit.subject)}</p>` : nothing}
    <dl class="facts">
      ${fact("Hash", commitHash(commit))} ${fact("Author", renderAuthor(commit))}
      ${fact("Date", timestampText(commit.time))}
      ${fact("Position", renderPosition(context, changes, position), "figure")}
      ${fact("Value", renderValue(context, changes, position))} ${renderQuarantined(context, position)}
      ${environments.map((environment) =>
        fact(
          "Changed",
          html`${renderEnvironmentFacts(environment)}
            <span class="faint">since commit ${grouped(environment.previous + 1)}</span>`,
        ),
      )}
      ${context.runs.map((run) => renderRun(run, changes.trace.unit))}
      ${finding ? fact("Related", renderOthers(finding, context.statementOf(finding), changes, commit)) : nothing}
    </dl>`;
}

function fact(name: string, value: unknown, kind = "") {
  return html`<div>
    <dt>${name}</dt>
    <dd class=${kind}>${value}</dd>
  </div>`;
}

function renderAuthor({ author, email }: Commit) {
  return html`${author || html`<span class="faint">not known</span>`}${
    email ? html` <span class="faint">${email}</span>` : nothing
  }`;
}

function renderPosition(context: TraceContext, changes: ChangePoints, position: number) {
  return html`commit ${grouped(position + 1)} of ${grouped(changes.commits)} on ${changes.line || "the line"}
    <button class="link" title="Show the values around it (z)" @click=${() => zoomToCommit(context)}>zoom in</button>`;
}

function renderValue({ series, runs, quarantined }: TraceContext, changes: ChangePoints, position: number) {
  const index = series?.positions.indexOf(position) ?? -1;
  const value = index < 0 ? undefined : series?.values[index];
  if (value === undefined) return html`<span class="faint">${runs.length > 0 ? "none" : "not measured"}</span>`;
  const withheld = quarantined.filter((each) => each.position === position).map(({ quarantine }) => quarantine.run);
  return html`<strong class="figure">${valueText(value, changes.trace.unit)}</strong>
    ${renderDelta(changes.regions, position, value)}
    <div class="second">${originText(runs.filter(({ identity }) => !withheld.includes(identity)))}</div>`;
}

function renderOthers(finding: Finding, statement: Statement | undefined, { trace }: ChangePoints, { hash }: Commit) {
  // A change whose commit a bisection found begins there.
  const filter = statement?.likely?.basis === "bisected" ? statement.likely.commit.hash : hash;
  const list = { ...triageRoute, tab: tabOf(finding), repository: trace.repository, filter };
  const { previous_hash: base, line } = finding.suspect_range;
  const both = { ...compareRoute, repository: trace.repository, base, head: hash, line };
  return html`<a href=${routeUrl(list)}>All changes at this commit</a>
    ${base && PUBLISHED === undefined ? html` · <a href=${routeUrl(both)}>All traces before and after</a>` : nothing}`;
}

/** The tab of the triage page that lists a finding. */
function tabOf({ condition, history, status }: Finding): Tab {
  if (condition === "gone") return "gone";
  if (status !== "new") return "processed";
  return history ? "history" : "unprocessed";
}

function renderRun(run: Run, unit: string) {
  const links = Object.entries(run.links).filter(([, url]) => /^https?:\/\//.test(url));
  const environment = Object.entries(run.environment);
  return html`<div title=${[run.identity, run.source].filter(Boolean).join("\n")}>
    <dt>Run</dt>
    <dd>
      ${
        run.value === null
          ? html`<strong class="outcome ${run.outcome}">${run.outcome}</strong>`
          : html`<span class="figure">${valueText(run.value, unit)}</span>`
      }
      ${run.message ? html`<span class="faint message">${run.message}</span>` : nothing}
      ${run.time ? html`<span class="faint">${timestampText(run.time)}</span>` : nothing}
      ${links.map(([name, url]) => html` <a href=${url} target="_blank" rel="noreferrer">${name}</a>`)}
      ${
        environment.length > 0
          ? html`<div class="second">${environment.map(([name, text]) => param(name, text))}</div>`
          : nothing
      }
      ${run.samples.length > 1 ? renderSamples(run) : nothing}
    </dd>
  </div>`;
}

function renderSamples({ samples, unit }: Run) {
  return html`<details class="samples">
    <summary>median of ${countText(samples.length, "sample")}</summary>
    <ul class="figure">
      ${samples.map((sample) => html`<li>${valueText(sample, unit)}</li>`)}
    </ul>
  </details>`;
}
