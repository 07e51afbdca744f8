/** Missing data: jobs, series and commits that should have results, and renames that may explain it. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Caller, type Schedule, type Missing, type MissingEntry, type Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { missingRoute, type MissingRoute } from "../../routes/missing";
import { navigate } from "../../routes/navigation";
import { isAllowedSomewhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { showToast } from "../../state/toasts";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { longName } from "../../templates/trace-name";
import { countText } from "../../text/numbers";
import { renderSchedules } from "./schedules";

const KINDS: Record<MissingEntry["kind"], string> = { job: "job", series: "series", commits: "commits" };

@customElement("kp-missing")
export class MissingView extends PageElement {
  @property({ attribute: false }) route: MissingRoute = missingRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;

  private readonly missing = new Resource<readonly [string], readonly Missing[]>(this, {
    args: () => [this.route.repository],
    load: ([repository], signal) => api.missing(repository, signal),
    keepWhileLoading: () => true,
  });

  private readonly schedules = new Resource<readonly [], readonly Schedule[]>(this, {
    args: () => [],
    load: (_, signal) => api.schedules(signal),
    keepWhileLoading: () => true,
  });

  private get mayDecide(): boolean {
    return isAllowedSomewhere(this.caller, "decide");
  }

  override render() {
    const { value, error } = this.missing;
    return html`<div class="page-head">
        <h1>Missing data</h1>
        <p class="faint">
          Overdue by its usual schedule: silent for more than twice the longest recent gap. A job that stopped is one
          row.
        </p>
      </div>
      ${this.renderFilter()} ${error ? errorNotice(error, () => this.missing.reload()) : nothing}
      ${value ? this.renderAll(value) : error ? nothing : loadingNotice("Reading all values")}
      ${this.schedules.error ? errorNotice(this.schedules.error, () => this.schedules.reload()) : renderSchedules(this.schedules.value ?? [])}`;
  }

  private renderFilter() {
    if (this.repositories.length < 2) return nothing;
    const names = this.repositories.map(({ name }) => [name, name] as const);
    return html`<div class="tools">
      ${selectField("Repository", this.route.repository, [["", "All repositories"], ...names], (repository) =>
        navigate({ ...missingRoute, repository }),
      )}
    </div>`;
  }

  private renderAll(all: readonly Missing[]) {
    const shown = all.filter((each) => each.entries.length + each.proposed.length + each.accepted.length > 0);
    if (shown.length === 0)
      return html`<div class="notice">
        <h2>Nothing is missing</h2>
        <p>All series have results by their usual schedule.</p>
      </div>`;
    return shown.map((each) => this.renderRepository(each, all.length > 1));
  }

  private renderRepository(missing: Missing, named: boolean) {
    return html`<section aria-label=${missing.repository}>
      ${named ? html`<h2>${missing.repository}</h2>` : nothing}
      ${missing.entries.length > 0 ? renderEntries(missing.entries) : nothing} ${this.renderRenames(missing)}
    </section>`;
  }

  private renderRenames({ proposed, accepted }: Missing) {
    if (proposed.length + accepted.length === 0) return nothing;
    return html`<div class="page-head">
        <h2>Renames</h2>
        <p class="faint">A new series that may continue an old one. You decide; no stored value changes.</p>
      </div>
      <table class="records">
        <caption class="sr-only">
          Renames: a new series that continues an old one
        </caption>
        <thead>
          <tr>
            <th scope="col">Old</th>
            <th scope="col">New</th>
            <th scope="col">Names alike</th>
            <th scope="col">Similar values</th>
            <th scope="col">Probability</th>
            <th scope="col"></th>
          </tr>
        </thead>
        <tbody>
          ${proposed.map(
            (each) =>
              html`<tr>
                <td data-label="Old">${traceLink(each.old)}</td>
                <td data-label="New">${traceLink(each.new)}</td>
                <td data-label="Names alike">${percent(each.name_likeness)}</td>
                <td data-label="Similar values">${percent(each.value_likeness)}</td>
                <td data-label="Probability">${percent(each.probability)}</td>
                <td>
                  ${
                    this.mayDecide
                      ? html`<button
                          class="button small"
                          @click=${() => this.change("acceptRename", each.old.id, each.new.id, "The series is continued")}
                        >
                          Accept
                        </button>`
                      : nothing
                  }
                </td>
              </tr>`,
          )}
          ${accepted.map(
            (each) =>
              html`<tr>
                <td data-label="Old">${traceLink(each.old)}</td>
                <td data-label="New">${traceLink(each.new)}</td>
                <td colspan="3">accepted by ${each.who}, ${date(each.time)}</td>
                <td>
                  ${
                    this.mayDecide
                      ? html`<button
                          class="button small"
                          @click=${() => this.change("undoRename", each.old.id, each.new.id, "The rename is taken back")}
                        >
                          Undo
                        </button>`
                      : nothing
                  }
                </td>
              </tr>`,
          )}
        </tbody>
      </table>`;
  }

  private async change(action: "acceptRename" | "undoRename", old: number, to: number, done: string): Promise<void> {
    try {
      await api[action](old, to);
      showToast({ text: `${done}; the next run judges again.` });
    } catch (thrown) {
      showToast({ text: thrown instanceof Error ? thrown.message : String(thrown), failure: true });
    }
    this.missing.reload();
  }
}

function renderEntries(entries: readonly MissingEntry[]) {
  return html`<table class="records">
    <caption class="sr-only">
      What is missing, the largest first
    </caption>
    <thead>
      <tr>
        <th scope="col">Kind</th>
        <th scope="col">What</th>
        <th scope="col">Last results</th>
        <th scope="col">Without results</th>
      </tr>
    </thead>
    <tbody>
      ${entries.map(
        (each) =>
          html`<tr>
            <td data-label="Kind">
              <span><span class="tag">${KINDS[each.kind]}</span></span>
            </td>
            <td data-label="What">${renderWhat(each)}</td>
            <td data-label="Last results"><span>${commitHash(each.last)} ${date(each.last.time)}</span></td>
            <td data-label="Without results">
              ${countText(each.silent, "commit")}; the usual gap is at most ${each.usual}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function renderWhat(entry: MissingEntry) {
  if (entry.kind === "commits")
    return html`<span
      >${countText(entry.silent, "commit")} before ${entry.until ? commitHash(entry.until) : nothing}</span
    >`;
  if (entry.count === 0) return html`everything: no commit has results since`;
  if (entry.count === 1) return html`${entry.traces.map(traceLink)}`;
  return html`${longName(entry.params.join(" "))}
    <details>
      <summary>${entry.count} series</summary>
      <ul>
        ${entry.traces.map((trace) => html`<li>${traceLink(trace)}</li>`)}
        ${entry.count > entry.traces.length ? html`<li>…</li>` : nothing}
      </ul>
    </details>`;
}

function traceLink(trace: MissingEntry["traces"][number]) {
  return html`<a href="/trace/${trace.id}">${longName(trace.key)}</a>`;
}

function percent(share: number | null): string {
  return share === null ? "" : `${Math.round(100 * share)} %`;
}
