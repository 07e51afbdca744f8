/**
 * The comparison of two commits, or of a results file with a commit or with another file: which traces regressed or improved, and
 * what size could have been seen.
 */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, ApiError, type Commit, type Comparison, type Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { compareRoute, MOST_REVISIONS, type CompareRoute } from "../../routes/compare";
import { navigate } from "../../routes/navigation";
import { keepHere, keptHere } from "../../routes/place";
import { routeUrl } from "../../routes/routes";
import { copyText } from "../../state/handover";
import { Resource } from "../../state/resource";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { saidOnce } from "../../templates/change-table";
import { selectField } from "../../templates/select-field";
import { longName } from "../../templates/trace-name";
import { compareUrl } from "../../text/compare-url";
import { conditionText, markdownOf, meanText, rangeText, sideName, verdictCounts } from "../../text/comparison";
import { countText, grouped, percentText } from "../../text/numbers";
import { commonParams } from "../../text/trace-names";
import "../../components/commit-field";
import "../../components/profile-difference";
import "./offers";
import { comparedTable } from "./rows";
import { selectRows } from "./selected-rows";

/** Rows that are drawn at first. */
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

  /** The rows that are open, by key. */
  @state() private opened: ReadonlySet<string> = new Set((keptHere() as string[] | undefined) ?? []);
  @state() private most = PAGE;
  /** Fields for further revisions that are not in the address yet. */
  @state() private spare = 0;

  private readonly comparison = new Resource<readonly [CompareRoute, string, ...Files], readonly Comparison[]>(this, {
    args: () =>
      (this.route.base || this.route.baseFile) && this.lacking.length === 0
        ? [this.route, this.repository, ...this.sent]
        : undefined,
    argsEqual: ([before, , ...files], [now, , ...others]) =>
      asked(before) === asked(now) && files.every((file, at) => file === others[at]),
    load: ([route, repository, ...files], signal) => this.load(route, repository, files, signal),
    onAnswer: (found) => {
      const [first] = found;
      if (!first) return;
      document.title = `${sideName(first.base)} … ${found.map(({ head }) => sideName(head)).join(", ")} · Knickpoint`;
    },
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
    signal?: AbortSignal,
  ): Promise<readonly Comparison[]> {
    const { base, head, more, line, headLine, query, summary, values, partial } = route;
    // Verdicts on several revisions stand side by side, also where one of them changed nothing.
    const changed = more.length === 0 && !route.all && !route.verdict;
    const rows = {
      repository,
      base,
      line,
      query,
      summary,
      changed,
      by_suite: !route.flat,
      first: 0,
      limit: MOST_TRACES,
    };
    if (!file) {
      const compared = (each: string) => api.comparison({ ...rows, head: each, head_line: headLine, values }, signal);
      return Promise.all([head, ...more].map(compared));
    }
    try {
      return [await api.fileComparison(file, baseFile, { ...rows, partial }, signal)];
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
            ? this.renderOffers()
            : this.lacking.length > 0
              ? this.renderLacking()
              : value
                ? this.renderResult(value)
                : loadingNotice("Comparing")
      }`;
  }

  /** Commits to compare; a chosen file waits for its base. */
  private renderOffers() {
    if (this.files.baseFile || this.files.file) return nothing;
    return html`<kp-compare-offers .route=${this.route} .repository=${this.repository}></kp-compare-offers>`;
  }

  private renderForm() {
    const { base, head, line, headLine, query, summary, values, partial } = this.route;
    const [baseFile, file] = [this.files.baseFile !== undefined, this.files.file !== undefined];
    const chooser = (side: Side, what: string, required = false) =>
      html`<label class="field"
        >${what} is a results file<input
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
    const found = this.comparison.value ?? [];
    const commitField = (label: string, name: string, value: string, hint: string, known: Commit | null | undefined) =>
      html`<kp-commit-field
        .label=${label}
        .name=${name}
        .value=${value}
        .hint=${hint}
        .repository=${this.repository}
        .line=${name === "base" ? line : headLine || line}
        .required=${name === "base"}
        .disabled=${name === "base" ? baseFile : file}
        .known=${known}
      ></kp-commit-field>`;
    const more = [...this.route.more, ...Array.from({ length: this.spare }, () => "")].slice(0, MOST_REVISIONS - 1);
    const isFolded = !(line || headLine || summary || baseFile || file || values !== compareRoute.values);
    return html`<form class="compare-form" @submit=${(event: SubmitEvent) => this.submit(event)}>
      ${
        this.repositories.length > 1
          ? html`<label class="field"
              >Repository<select
                name="repository"
                @change=${(event: Event) => this.choose((event.target as HTMLSelectElement).value)}
              >
                ${this.repositories.map(
                  ({ name }) => html`<option value=${name} ?selected=${name === this.repository}>${name}</option>`,
                )}
              </select></label
            >`
          : nothing
      }
      ${commitField("Base", "base", base, "words, hash, tag, day", found[0]?.base.commit)}
      ${commitField("New commit", "head", head, "newest", found[0]?.head.commit)}
      ${more.map((each, index) => commitField(`New commit ${index + 2}`, "more", each, "words, hash, tag, day", found[index + 1]?.head.commit))}
      ${field("Query", "query", query, this.isTooLarge ? `at most ${grouped(MOST_TRACES)} traces` : "all traces", this.isTooLarge && !file)}
      <div class="compare-buttons">
        <button class="button primary">Compare</button>
        ${
          more.length < MOST_REVISIONS - 1 && !file
            ? html`<button type="button" class="button" @click=${() => (this.spare += 1)}>Another revision</button>`
            : nothing
        }
      </div>
      <details ?open=${!isFolded}>
        <summary>More: results files, lines, samples</summary>
        <div class="compare-more">
          ${chooser("baseFile", "The base")} ${chooser("file", "The new side", baseFile)}
          ${field("Line of the base", "line", line, "default", false, baseFile)}
          ${field("Line of the new commit", "head_line", headLine, "the same", false, file)}
          ${field("Of the samples", "summary", summary, "median, or p99, min …")}
          <label class="field"
            >New values
            <select name="values" ?disabled=${file}>
              ${VALUE_CHOICES.map((count) => html`<option value=${count} ?selected=${count === values}>${count === 1 ? "the newest" : `the newest ${count}`}</option>`)}
            </select></label
          >
          <p class="faint" id="compare-file">
            ${
              file
                ? html`<label
                    ><input type="checkbox" name="partial" .checked=${partial} /> the file has only a part of the
                    benchmarks: do not report those that it lacks</label
                  >`
                : html`A file of any format that <code>knick import</code> reads is judged like a new commit, or is the
                    base of another one. Files are not stored.`
            }
          </p>
        </div>
      </details>
    </form>`;
  }

  /** Commits of another repository are others. */
  private choose(repository: string): void {
    const { base, head, more } = compareRoute;
    navigate({ ...this.route, repository, base, head, more }, "replace");
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    const before = routeUrl(this.route);
    const { all, flat, verdict, match, sort } = this.route;
    const more = data.getAll("more").flatMap((each) => (typeof each === "string" && each.trim() ? [each.trim()] : []));
    this.spare = 0;
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
      more: file ? [] : more,
      all,
      flat,
      verdict,
      match,
      sort: sort.includes("change") ? "" : sort,
    };
    navigate(route);
    if (routeUrl(route) === before) this.comparison.reload();
  }

  private renderResult(found: readonly Comparison[]) {
    const [first] = found;
    if (!first) return nothing;
    const { compared, selected, false_positives: rate, summary } = first;
    return html`<section class="part compare-summary">
        ${found.length > 1 ? html`<h2>${countText(found.length, "new revision")} against ${this.renderSide(first.base, first.repository)}</h2>` : nothing}
        ${found.map((each) => this.renderSum(each, found.length > 1))}
        <p class="faint">
          ${countText(compared, "trace")}
          compared${selected > compared ? html`, ${grouped(selected - compared)} of the query have no value on either side` : nothing}.
          Of unchanged commits, at most ${percentText(rate)} show any regression.
          ${summary === "median" ? nothing : html`The ${summary} of the samples of each run is compared.`}
          ${
            first.by_samples
              ? "The base has too few runs to know how they differ, so its samples replace them: measure again to confirm."
              : nothing
          }
        </p>
        ${first.warnings.map((text) => html`<p class="faint">${text}</p>`)}
      </section>
      ${this.renderTools(first)} ${this.renderRows(found)} ${found.map((each) => this.renderProfiles(each))}`;
  }

  /** Where the cost changed, if both commits have profiles of a benchmark. */
  private renderProfiles({ repository, base, head, profiled }: Comparison) {
    if (!base.commit || !head.commit || profiled.length === 0) return nothing;
    const [line, head_line] = [base.line, head.line];
    const commits = { repository, base: base.commit.hash, head: head.commit.hash, line, head_line };
    const title = `profiles-${head.commit.hash}`;
    return html`<section class="part" aria-labelledby=${title}>
      <h2 id=${title}>
        Where the cost changed${this.route.more.length > 0 ? html`: ${commitHash(head.commit, repository)}` : nothing}
      </h2>
      <kp-profile-difference
        class="inner"
        .about=${`${base.commit.hash} ${head.commit.hash}`}
        .benchmarks=${profiled}
        .shown=${this.route.flame}
        .load=${(benchmark: string, signal?: AbortSignal) => api.comparedFlameGraph(commits, benchmark, signal)}
        @kp-flame=${(event: CustomEvent<string>) => navigate({ ...this.route, flame: event.detail }, "replace")}
      ></kp-profile-difference>
    </section>`;
  }

  private renderSide({ commit, line, file, runs }: Comparison["base"], repository: string) {
    return commit
      ? html`${commitHash(commit, repository)}
          ${commit.subject ? html`<bdi>${longName(commit.subject)}</bdi>, ` : nothing}${date(commit.time)} on
          <bdi>${line}</bdi>`
      : html`<bdi>${file}</bdi>, ${countText(runs, "run")}`;
  }

  /** The counts, the mean and the conditions of one new revision. */
  private renderSum(found: Comparison, isOne: boolean) {
    const { base, head, counts, mean, repository } = found;
    const commits = base.commit && head.commit ? [base.commit, head.commit] : [];
    const [from, to] = commits;
    const diff = from && to ? compareUrl(from, to) : "";
    return html`${
      isOne
        ? html`<h3>${this.renderSide(head, repository)}: ${verdictCounts(counts)}</h3>`
        : html`<h2>${verdictCounts(counts)}</h2>
            <p>${this.renderSide(base, repository)}<br />→ ${this.renderSide(head, repository)}</p>`
    }
    ${
      meanText(mean)
        ? html`<p>
            <strong class="figure">${meanText(mean)}</strong>
            <span class="faint" title=${MEAN_TITLE}
              >geometric mean of
              ${countText(mean.traces, "trace")}${rangeText(mean) ? `, ${rangeText(mean)}` : ""}</span
            >
          </p>`
        : nothing
    }
    ${found.condition ? html`<p class="condition"><strong>The sides differ:</strong> ${conditionText(found)}</p>` : nothing}
    ${diff ? html`<p><a href=${diff} target="_blank" rel="noopener">The commits between them</a></p>` : nothing}`;
  }

  private renderTools(found: Comparison) {
    const { verdict, all, match } = this.route;
    const chosen = verdict || (all ? "all" : "");
    const choose = (value: string): void =>
      navigate({ ...this.route, all: value !== "", verdict: value === "all" ? "" : value }, "replace");
    return html`<form class="tools" @submit=${(event: SubmitEvent) => event.preventDefault()}>
      <label class="search"
        ><span class="sr-only">Filter traces</span
        ><input
          type="search"
          placeholder="Filter traces"
          .value=${match}
          @input=${(event: Event) => navigate({ ...this.route, match: (event.target as HTMLInputElement).value }, "replace")}
      /></label>
      ${selectField("Verdict", chosen, VERDICT_CHOICES, choose)}
      <label
        ><input
          type="checkbox"
          .checked=${!this.route.flat}
          @change=${() => navigate({ ...this.route, flat: !this.route.flat })}
        />
        by suite</label
      >
      <button
        type="button"
        class="button small"
        @click=${() => void copyText(markdownOf(found, location.href), "Copied the comparison as Markdown.")}
      >
        Copy as Markdown
      </button>
    </form>`;
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
      <p>${countText(unclear, "trace")} could not be judged: choose <em>All traces</em> to see the reasons.</p>
    </div>`;
  }

  private renderRows(found: readonly Comparison[]) {
    const rows = selectRows(found, this.route);
    const [first] = found;
    if (!first) return nothing;
    if (rows.length === 0) {
      return this.route.match || this.route.verdict
        ? html`<div class="notice"><h2>No trace matches the filter</h2></div>`
        : this.renderNothing(first.counts);
    }
    const params = rows.map(({ row }) => row.params);
    return html`<div class="part">${saidOnce(params[0], commonParams(params))}</div>
      ${comparedTable(found, this.route, {
        isOpen: (key) => this.opened.has(key),
        toggle: (key) => this.toggle(key),
        sort: (sort) => navigate({ ...this.route, sort }, "replace"),
        most: this.most,
      })}
      ${
        rows.length > this.most
          ? html`<p class="part">
              <button class="button" @click=${() => (this.most = rows.length)}>Show all ${grouped(rows.length)}</button>
            </p>`
          : nothing
      }`;
  }

  private toggle(key: string): void {
    const opened = new Set(this.opened);
    if (!opened.delete(key)) opened.add(key);
    this.opened = opened;
    keepHere([...opened]);
  }
}

/** What the server is asked, whatever order and filter the page shows it in. */
function asked(route: CompareRoute): string {
  const changed = route.more.length === 0 && !route.all && !route.verdict;
  return routeUrl({ ...route, all: !changed, verdict: "", match: "", sort: "", flame: "" });
}

const MEAN_TITLE =
  "Of the traces that decide; beside others, traces for which higher is better count by the inverse. The 95 % interval " +
  "covers the scatter of the values, as if traces were independent.";

const VERDICT_CHOICES: readonly (readonly [string, string])[] = [
  ["", "What changed"],
  ["all", "All traces"],
  ["regressed", "Regressed"],
  ["improved", "Improved"],
  ["unchanged", "Unchanged"],
  ["unstable", "Unstable"],
  ["no data", "Without data"],
];

declare global {
  interface HTMLElementTagNameMap {
    "kp-compare": CompareView;
  }
}
