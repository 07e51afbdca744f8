/**
 * The comparison of two commits, or of a results file with a commit: which traces regressed or improved, and what size could
 * have been seen.
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
import { saidOnce } from "../../templates/regression-table";
import { markdownOf, sideName, verdictCounts } from "../../text/comparison";
import { countText, grouped, percentText } from "../../text/numbers";
import { commonParams } from "../../text/trace-names";
import { comparedTable } from "./rows";

const PAGE = 100;
/** The server compares no more at a time. */
const MOST_TRACES = 2000;
const VALUE_CHOICES = [1, 2, 3, 5];

@customElement("kp-compare")
export class CompareView extends PageElement {
  @property({ attribute: false }) route: CompareRoute = compareRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];

  /** The results file of the form; the server does not keep it, and so it is chosen anew after a reload. */
  @state() private file: File | undefined;

  private readonly comparison = new Resource<readonly [CompareRoute, string, File | undefined], Comparison>(this, {
    args: () => (this.route.base && !this.lacksFile ? [this.route, this.repository, this.sentFile] : undefined),
    argsEqual: ([before, , file], [now, , other]) => routeUrl(before) === routeUrl(now) && file === other,
    load: ([route, repository, file], signal) => this.load(route, repository, file, 0, signal),
    onAnswer: ({ base, head }) => (document.title = `${sideName(base)} … ${sideName(head)} · Knickpoint`),
  });

  /** The file that is compared: that of the form, once its name is in the address. */
  private get sentFile(): File | undefined {
    return this.route.file && this.file?.name === this.route.file ? this.file : undefined;
  }

  private get lacksFile(): boolean {
    return this.route.file !== "" && !this.sentFile;
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
    file: File | undefined,
    first: number,
    signal?: AbortSignal,
  ): Promise<Comparison> {
    const { base, head, line, headLine, query, values, partial, all, flat } = route;
    const rows = { repository, base, line, changed: !all, by_suite: !flat, first, limit: PAGE };
    if (!file) return api.comparison({ ...rows, head, head_line: headLine, query, values }, signal);
    try {
      return await api.fileComparison(file, { ...rows, partial }, signal);
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
          : !this.route.base
            ? nothing
            : this.lacksFile
              ? this.renderLacking()
              : value
                ? this.renderResult(value)
                : loadingNotice("Comparing")
      }`;
  }

  private renderForm() {
    const { base, head, line, headLine, query, values, partial } = this.route;
    const file = this.file !== undefined;
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
      ${field("Base", "base", base, "hash, tag, day or newest", true)}
      ${field("New commit", "head", head, "newest", false, file)}
      <label class="field"
        >or a results file<input
          type="file"
          aria-describedby="compare-file"
          @change=${(event: Event) => (this.file = (event.target as HTMLInputElement).files?.[0])}
      /></label>
      ${field("Line of the base", "line", line, "default")}
      ${field("Line of the new commit", "head_line", headLine, "the same", false, file)}
      ${field("Query", "query", query, this.isTooLarge ? `at most ${grouped(MOST_TRACES)} traces` : "all traces", this.isTooLarge, file)}
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
            : html`A file of any format that <code>knick import</code> reads is judged like a new commit. It is not
                stored.`
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
    const repository = text("repository") || this.route.repository;
    const shared = { ...compareRoute, repository, base: text("base"), line: text("line"), all, flat };
    const route: CompareRoute = this.file
      ? { ...shared, file: this.file.name, partial: data.has("partial") }
      : {
          ...shared,
          head: text("head") || compareRoute.head,
          headLine: text("head_line"),
          query: text("query"),
          values: Number(text("values")),
        };
    navigate(route);
    if (routeUrl(route) === before) this.comparison.reload();
  }

  private renderResult(found: Comparison) {
    const { base, head, counts, compared, selected, false_positives: rate, repository } = found;
    const side = ({ commit, line, file, runs }: Comparison["base"]) =>
      commit
        ? html`${commitHash(commit, repository)}
            ${commit.subject ? html`<bdi>${commit.subject}</bdi>, ` : nothing}${date(commit.time)} on
            <bdi>${line}</bdi>`
        : html`<bdi>${file}</bdi>, ${countText(runs, "run")}`;
    return html`<section class="part compare-summary">
        <h2>${verdictCounts(counts)}</h2>
        <p>${side(base)}<br />→ ${side(head)}</p>
        <p class="faint">
          ${countText(compared, "trace")}
          compared${selected > compared ? html`, ${grouped(selected - compared)} of the query have no value on either side` : nothing}.
          Of unchanged commits, at most ${percentText(rate)} show any regression.
        </p>
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
      <h2>Choose the file <bdi>${this.route.file}</bdi> again</h2>
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
      const next = await this.load(route, this.repository, this.sentFile, value.traces.length);
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
