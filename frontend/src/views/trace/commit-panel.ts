/** The pinned commit: what it is, what ran there, and among which commits its change lies. */

import { html, nothing } from "lit";
import type { Changes, Member, Run } from "../../api/client";
import { hash } from "../../templates/finding";
import { triage, writeAddress, type Tab } from "../../routes/routes";
import { grouped } from "../../text/numbers";
import { moment, valueText } from "../../text/units";
import { count } from "../../text/findings";
import { changeAt, type Desk } from "./context";
import { renderDelta, renderFacts } from "./plot";
import { lookClosely } from "./shortcuts";

export function renderCommit(desk: Desk, changes: Changes) {
  return html`<section aria-labelledby="commit-title" class="panel">
    <h2 id="commit-title">Commit</h2>
    ${renderPinned(desk, changes)}
  </section>`;
}

/** The list that a finding is on. */
function tabOf({ condition, history, status }: Member): Tab {
  if (condition === "gone") return "gone";
  if (status !== "new") return "processed";
  return history ? "history" : "unprocessed";
}

function renderPinned(desk: Desk, changes: Changes) {
  const { commit, address } = desk;
  const position = address.commit;
  if (position === undefined || !commit) {
    return html`<p class="faint">Click a value, or press ← and →, to see its commit.</p>`;
  }
  const at = desk.series?.positions.indexOf(position) ?? -1;
  const value = at < 0 ? undefined : desk.series?.values[at];
  const found = changeAt(desk, position);
  return html`${commit.subject ? html`<p class="commit-subject">${commit.subject}</p>` : nothing}
    <dl class="facts">
      <div>
        <dt>Hash</dt>
        <dd>${hash(commit)}</dd>
      </div>
      <div>
        <dt>Author</dt>
        <dd>
          ${commit.author || html`<span class="faint">not known</span>`}${commit.email ? html` <span class="faint">${commit.email}</span>` : nothing}
        </dd>
      </div>
      <div>
        <dt>Date</dt>
        <dd>${moment(commit.time)}</dd>
      </div>
      <div>
        <dt>Place</dt>
        <dd class="figure">
          commit ${grouped(position + 1)} of ${grouped(changes.commits)} on ${changes.line || "the line"}
          <button class="link" title="The values around it (z)" @click=${() => lookClosely(desk)}>look closely</button>
        </dd>
      </div>
      <div>
        <dt>Value</dt>
        <dd>
          ${
            value === undefined
              ? html`<span class="faint">${desk.runs.length > 0 ? "none" : "not measured"}</span>`
              : html`<strong class="figure">${valueText(value, changes.trace.unit)}</strong>
                  ${renderDelta(changes.regions, position, value)}`
          }
        </dd>
      </div>
      ${desk.environments
        .filter((own) => own.position === position)
        .map(
          (own) =>
            html`<div>
              <dt>Changed</dt>
              <dd>${renderFacts(own)} <span class="faint">since commit ${grouped(own.previous + 1)}</span></dd>
            </div>`,
        )}
      ${desk.runs.map((run) => renderRun(run, changes.trace.unit))}
      ${
        found
          ? html`<div>
              <dt>Others</dt>
              <dd>
                <a
                  href=${writeAddress({ ...triage, tab: tabOf(found), repository: changes.trace.repository, filter: commit.hash })}
                  >All findings at this commit</a
                >
              </dd>
            </div>`
          : nothing
      }
    </dl>
    ${renderSuspects(desk)}`;
}

function renderRun(run: Run, unit: string) {
  const samples = run.samples.length;
  const facts = Object.entries(run.environment);
  return html`<div title=${[run.identity, run.source].filter(Boolean).join("\n")}>
    <dt>Run</dt>
    <dd>
      ${run.value === null ? html`<strong class="outcome ${run.outcome}">${run.outcome}</strong>` : html`<span class="figure">${valueText(run.value, unit)}</span>`}
      ${run.message ? html`<span class="faint message">${run.message}</span>` : nothing}
      ${run.time ? html`<span class="faint">${moment(run.time)}</span>` : nothing}
      ${Object.entries(run.links)
        .filter(([, url]) => /^https?:\/\//.test(url))
        .map(([name, url]) => html` <a href=${url} target="_blank" rel="noreferrer">${name}</a>`)}
      ${facts.length > 0 ? html`<div class="second">${facts.map(([name, text]) => html`<span class="param"><span class="param-key">${name}</span>${text}</span>`)}</div>` : nothing}
      ${
        samples > 1
          ? html`<details class="samples">
              <summary>median of ${count(samples, "sample")}</summary>
              <ul class="figure">
                ${run.samples.map((sample) => html`<li>${valueText(sample, run.unit)}</li>`)}
              </ul>
            </details>`
          : nothing
      }
    </dd>
  </div>`;
}

function renderSuspects(desk: Desk) {
  const place = changeAt(desk, desk.address.commit)?.place;
  if (!place || place.suspects < 2) return nothing;
  const more = place.suspects - desk.suspects.length;
  return html`<h3>The change lies in one of ${place.suspects} commits</h3>
    <p class="faint">Those in between have no value. Measure them to know which.</p>
    <ol class="suspects">
      ${desk.suspects.map(
        ({ commit, failed }) =>
          html`<li>
            ${hash(commit)} <span class="subject" title=${commit.subject}>${commit.subject}</span>
            ${failed ? html`<span class="tag outcome ${failed.outcome}" title=${failed.message}>${failed.outcome}</span>` : nothing}
            <span class="faint">${commit.author}</span>
          </li>`,
      )}
    </ol>
    ${more > 0 && desk.suspects.length > 0 ? html`<p class="faint">and ${more} older</p>` : nothing}`;
}
