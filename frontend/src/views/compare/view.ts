/**
 * The comparison of two commits, or of a results file with a commit or with another file: which traces regressed or improved, and
 * what size could have been seen.
 */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, ApiError, type Comparison, type Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { compareRoute, type CompareRoute } from "../../routes/compare";
import { navigate } from "../../routes/navigation";
import { routeUrl } from "../../routes/routes";
import { copyText } from "../../state/handover";
import { Resource } from "../../state/resource";
import { showToast } from "../../state/toasts";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { saidOnce } from "../../templates/change-table";
import { conditionText, markdownOf, sideName, verdictCounts } from "../../text/comparison";
import { countText, grouped, percentText } from "../../text/numbers";
import { commonParams } from "../../text/trace-names";
import { comparedTable } from "./rows";

const PAGE = 100;
/** The server compares no more at a time. */
const MOST_TRACES = 2000;
const VALUE_CHOICES = [1, 2, 3, 5];

type Side = "baseFile" | "file";
type Files = readonly [base: File | undefined, file: File | undefined];

@customElement("kp-compare")
export class CompareView extends PageElement {
  @property({ attribute: false }) route: CompareRoute = compareRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];

  /** The results files of the form; the server does not keep them, and so they are chosen anew after a reload. */
  @state() private files: Partial<Record<Side, File>> = {};

  private readonly comparison = new Resource<readonly [CompareRoute, string, ...Files], Comparison>(this, {
    args: () =>
      (this.route.base || this.route.baseFile) && this.lacking.length === 0
        ? [this.route, this.repository, ...this.sent]
        : undefined,
    argsEqual: ([before, , ...files], [now, , ...others]) =>
      routeUrl(before) === routeUrl(now) && files.every((file, at) => file === others[at]),
    load: ([route, repository, ...files], signal) => this.load(route, repository, files, 0, signal),
    onAnswer: ({ base, head }) => (document.title = `${sideName(base)} … ${sideName(head)} · Knickpoint`),
  });

  /** The files that are compared: those of the form, once their names are in the address. */
  private get sent(): Files {
    const of = (side: Side) => (this.files[side]?.name === this.route[side] ? this.files[side] : undefined);
    return [of("baseFile"), of("file")];
  }

  /** The names of files that are in the address and not here. */
  private get lacking(): string[] {
    const { baseFile, file } = this.route;
    return [baseFile, file].filter((name, at) => name && !this.sent[at]);
  }

  private get repository(): string {
    const measured = this.repositories.find(({ traces }) => traces > 0);
    return this.route.repository || (measured?.name ?? "");
  }

  /** Whether a comparison of all traces would be refused. */
  private get isTooLarge(): boolean {
    return this.repositories.some(({ name, traces }) => name === this.repository && traces > MOST_TRACES);
  }

  private async load(
    route: CompareRoute,
    repository: string,
    [baseFile, file]: Files,
    first: number,
    signal?: AbortSignal,
  ): Promise<Comparison> {
    const { base, head, line, headLine, query, summary, values, partial, all, flat } = route;
    const rows = { repository, base, line, query, summary, changed: !all, by_suite: !flat, first, limit: PAGE };
    if (!file) return api.comparison({ ...rows, head, head_line: headLine, values }, signal);
    try {
      return await api.fileComparison(file, baseFile, { ...rows, partial }, signal);
    } catch (thrown) {
      // What is wrong with the request as a whole, as its size, names no file.
      if (!(thrown instanceof ApiError) || thrown.where) throw thrown;
      throw new ApiError(thrown.message, file.name, thrown.remedy, thrown.code);
    }
  }

  override render() {
    const { value, error } = this.comparison;
    return html`<div class="page-head">
        <h1>Compare</h1>
        <p class="faint">
          Each trace of the new commit is judged against its history up to the base, as <code>knick check</code> does
          it.
        </p>
      </div>
      ${this.renderForm()}
      ${
        error
          ? errorNotice(error, () => this.comparison.reload())
          : !this.route.base && !this.route.baseFile
            ? nothing
            : this.lacking.length > 0
              ? this.renderLacking()
              : value
                ? this.renderResult(value)
                : loadingNotice("Comparing")
      }`;
  }

  private renderForm() {
    const { base, head, line, headLine, query, summary, values, partial } = this.route;
    const [baseFile, file] = [this.files.baseFile !== undefined, this.files.file !== undefined];
    const chooser = (side: Side, required = false) =>
      html`<label class="field"
        >or a results file<input
          type="file"
          ?required=${required}
          aria-describedby="compare-file"
          @change=${(event: Event) => (this.files = { ...this.files, [side]: (event.target as HTMLInputElement).files?.[0] })}
      /></label>`;
    const field = (label: string, name: string, value: string, hint: string, required = false, disabled = false) =>
      html`<label class="field"
        >${label}<input
          name=${name}
          .value=${value}
          placeholder=${hint}
          ?required=${required && !disabled}
          ?disabled=${disabled}
          autocomplete="off"
          spellcheck="false"
      /></label>`;
    return html`<form class="compare-form" @submit=${(event: SubmitEvent) => this.submit(event)}>
      ${
        this.repositories.length > 1
          ? html`<label class="field"
              >Repository<select name="repository">
                ${this.repositories.map(
                  ({ name }) => html`<option value=${name} ?selected=${name === this.repository}>${name}</option>`,
                )}
              </select></label
            >`
          : nothing
      }
      ${field("Base", "base", base, "hash, tag, day or newest", true, baseFile)} ${chooser("baseFile")}
      ${field("New commit", "head", head, "newest", false, file)} ${chooser("file", baseFile)}
      ${field("Line of the base", "line", line, "default", false, baseFile)}
      ${field("Line of the new commit", "head_line", headLine, "the same", false, file)}
      ${field("Query", "query", query, this.isTooLarge ? `at most ${grouped(MOST_TRACES)} traces` : "all traces", this.isTooLarge && !file)}
      ${field("Of the samples", "summary", summary, "median, or p99, min …")}
      <label class="field"
        >New values
        <select name="values" ?disabled=${file}>
          ${VALUE_CHOICES.map((count) => html`<option value=${count} ?selected=${count === values}>${count === 1 ? "the newest" : `the newest ${count}`}</option>`)}
        </select></label
      >
      <button class="button primary">Compare</button>
      <p class="faint" id="compare-file">
        ${
          file
            ? html`<label
                ><input type="checkbox" name="partial" .checked=${partial} /> the file has only a part of the
                benchmarks: do not report those that it lacks</label
              >`
            : html`A file of any format that <code>knick import</code> reads is judged like a new commit, or is the base
                of another one. Files are not stored.`
        }
      </p>
    </form>`;
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    const before = routeUrl(this.route);
    const { all, flat } = this.route;
    const { baseFile, file } = this.files;
    const route: CompareRoute = {
      ...compareRoute,
      repository: text("repository") || this.route.repository,
      base: text("base"),
      head: text("head") || compareRoute.head,
      line: text("line"),
      headLine: text("head_line"),
      query: text("query"),
      summary: text("summary"),
      values: Number(text("values")) || compareRoute.values,
      baseFile: baseFile?.name ?? "",
      file: file?.name ?? "",
      partial: data.has("partial"),
      all,
      flat,
    };
    navigate(route);
    if (routeUrl(route) === before) this.comparison.reload();
  }

  private renderResult(found: Comparison) {
    const { base, head, counts, compared, selected, false_positives: rate, repository, summary } = found;
    const side = ({ commit, line, file, runs }: Comparison["base"]) =>
      commit
        ? html`${commitHash(commit, repository)}
            ${commit.subject ? html`<bdi>${commit.subject}</bdi>, ` : nothing}${date(commit.time)} on
            <bdi>${line}</bdi>`
        : html`<bdi>${file}</bdi>, ${countText(runs, "run")}`;
    return html`<section class="part compare-summary">
        <h2>${verdictCounts(counts)}</h2>
        ${found.condition ? html`<p>${conditionText(found)}</p>` : nothing}
        <p>${side(base)}<br />→ ${side(head)}</p>
        <p class="faint">
          ${countText(compared, "trace")}
          compared${selected > compared ? html`, ${grouped(selected - compared)} of the query have no value on either side` : nothing}.
          Of unchanged commits, at most ${percentText(rate)} show any regression.
          ${summary === "median" ? nothing : html`The ${summary} of the samples of each run is compared.`}
          ${
            found.by_samples
              ? "The base has too few runs to know how they differ, so its samples stand for them: measure again to confirm."
              : nothing
          }
        </p>
        ${found.warnings.map((text) => html`<p class="faint">${text}</p>`)}
        <p class="commit-links">
          <label
            ><input
              type="checkbox"
              .checked=${this.route.all}
              @change=${() => navigate({ ...this.route, all: !this.route.all })}
            />
            also what did not change</label
          >
          <label
            ><input
              type="checkbox"
              .checked=${!this.route.flat}
              @change=${() => navigate({ ...this.route, flat: !this.route.flat })}
            />
            by suite</label
          >
          <button
            class="button small"
            @click=${() => void copyText(markdownOf(found, location.href), "Copied the comparison as Markdown.")}
          >
            Copy as Markdown
          </button>
        </p>
      </section>
      ${this.renderRows(found)}`;
  }

  private renderLacking() {
    return html`<div class="notice">
      <h2>Choose the file <bdi>${this.lacking.join(" and ")}</bdi> again</h2>
      <p>A compared file is not stored: after a reload, or from a link, the page does not have it.</p>
    </div>`;
  }

  private renderNothing(counts: Comparison["counts"]) {
    const unclear = (counts.unstable ?? 0) + (counts["no data"] ?? 0);
    if (unclear === 0) return html`<div class="notice"><h2>Nothing regressed or improved</h2></div>`;
    return html`<div class="notice">
      <h2>Nothing that could be judged regressed or improved</h2>
      <p>${countText(unclear, "trace")} could not be judged: list also what did not change to see the reasons.</p>
    </div>`;
  }

  private renderRows(found: Comparison) {
    const { traces, total, counts } = found;
    if (total === 0) return this.renderNothing(counts);
    const params = traces.map((row) => row.params);
    return html`<div class="part">${saidOnce(params[0], commonParams(params))}</div>
      ${comparedTable(found, this.route)}
      ${
        total > traces.length
          ? html`<p class="part">
              <button class="button" @click=${() => void this.loadMore()}>Show more of ${grouped(total)}</button>
            </p>`
          : nothing
      }`;
  }

  private async loadMore(): Promise<void> {
    const { value } = this.comparison;
    if (!value) return;
    const { route } = this;
    try {
      const next = await this.load(route, this.repository, this.sent, value.traces.length);
      if (this.route === route) this.comparison.update({ ...value, traces: [...value.traces, ...next.traces] });
    } catch (thrown) {
      showToast({ text: thrown instanceof Error ? thrown.message : String(thrown), failure: true });
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-compare": CompareView;
  }
}
