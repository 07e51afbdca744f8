/** The comparison of two commits: which traces regressed or improved between them, and what size could have been seen. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type ComparedTrace, type Comparison, type Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { compareRoute, type CompareRoute } from "../../routes/compare";
import { navigate } from "../../routes/navigation";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { copyText } from "../../state/handover";
import { Resource } from "../../state/resource";
import { showToast } from "../../state/toasts";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { saidOnce } from "../../templates/regression-table";
import { longName } from "../../templates/trace-name";
import { changeWithInterval, comparedLevels, detectableText, markdownOf, verdictCounts } from "../../text/comparison";
import { countText, grouped, percentText } from "../../text/numbers";
import { commonParams, traceText } from "../../text/trace-names";
import { drawSides } from "./sides";

const PAGE = 100;
/** The server compares no more at a time. */
const MOST_TRACES = 2000;
const VALUE_CHOICES = [1, 2, 3, 5];

@customElement("kp-compare")
export class CompareView extends PageElement {
  @property({ attribute: false }) route: CompareRoute = compareRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];

  private readonly comparison = new Resource<readonly [CompareRoute, string], Comparison>(this, {
    args: () => (this.route.base ? [this.route, this.repository] : undefined),
    argsEqual: ([before], [now]) => routeUrl(before) === routeUrl(now),
    load: ([route, repository], signal) => this.load(route, repository, 0, signal),
    onAnswer: ({ base, head }) => (document.title = `${base.commit.short} … ${head.commit.short} · Knickpoint`),
  });

  private get repository(): string {
    const measured = this.repositories.find(({ traces }) => traces > 0);
    return this.route.repository || (measured?.name ?? "");
  }

  /** Whether a comparison of all traces would be refused. */
  private get isTooLarge(): boolean {
    return this.repositories.some(({ name, traces }) => name === this.repository && traces > MOST_TRACES);
  }

  private load(route: CompareRoute, repository: string, first: number, signal?: AbortSignal): Promise<Comparison> {
    const { base, head, line, headLine, query, values, all } = route;
    const rows = { changed: !all, first, limit: PAGE };
    return api.comparison({ repository, base, head, line, head_line: headLine, query, values, ...rows }, signal);
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
            : value
              ? this.renderResult(value)
              : loadingNotice("Comparing")
      }`;
  }

  private renderForm() {
    const { base, head, line, headLine, query, values } = this.route;
    const field = (label: string, name: string, value: string, hint: string, required = false) =>
      html`<label class="field"
        >${label}<input
          name=${name}
          .value=${value}
          placeholder=${hint}
          ?required=${required}
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
      ${field("Base", "base", base, "hash, tag, day or newest", true)} ${field("New commit", "head", head, "newest")}
      ${field("Line of the base", "line", line, "default")}
      ${field("Line of the new commit", "head_line", headLine, "the same")}
      ${field("Query", "query", query, this.isTooLarge ? `at most ${grouped(MOST_TRACES)} traces` : "all traces", this.isTooLarge)}
      <label class="field"
        >New values
        <select name="values">
          ${VALUE_CHOICES.map((count) => html`<option value=${count} ?selected=${count === values}>${count === 1 ? "the newest" : `the newest ${count}`}</option>`)}
        </select></label
      >
      <button class="button primary">Compare</button>
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
    const route: CompareRoute = {
      ...this.route,
      repository: text("repository") || this.route.repository,
      base: text("base"),
      head: text("head") || compareRoute.head,
      line: text("line"),
      headLine: text("head_line"),
      query: text("query"),
      values: Number(text("values")),
    };
    navigate(route);
    if (routeUrl(route) === before) this.comparison.reload();
  }

  private renderResult(found: Comparison) {
    const { base, head, counts, compared, selected, false_positives: rate, repository } = found;
    const side = ({ commit, line }: Comparison["base"]) =>
      html`${commitHash(commit, repository)}
        ${commit.subject ? html`<bdi>${commit.subject}</bdi>, ` : nothing}${date(commit.time)} on <bdi>${line}</bdi>`;
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

  private renderNothing(counts: Comparison["counts"]) {
    const unclear = (counts.unstable ?? 0) + (counts["no data"] ?? 0);
    if (unclear === 0) return html`<div class="notice"><h2>Nothing regressed or improved</h2></div>`;
    return html`<div class="notice">
      <h2>Nothing that could be judged regressed or improved</h2>
      <p>${countText(unclear, "trace")} could not be judged: list also what did not change to see the reasons.</p>
    </div>`;
  }

  private renderRows({ traces, total, counts }: Comparison) {
    if (total === 0) return this.renderNothing(counts);
    const common = commonParams(traces.map(({ params }) => params));
    return html`<div class="part">${saidOnce(traces[0]?.params, common)}</div>
      <div class="wide">
        <table class="records compared" aria-label="Compared traces">
          <thead>
            <tr>
              <th scope="col">Verdict</th>
              <th scope="col">Trace</th>
              <th scope="col">Change</th>
              <th scope="col">Before → after</th>
              <th scope="col">Values</th>
              <th scope="col">Could be seen</th>
            </tr>
          </thead>
          <tbody>
            ${traces.map((row) => this.renderRow(row, common))}
          </tbody>
        </table>
      </div>
      ${
        total > traces.length
          ? html`<p class="part">
              <button class="button" @click=${() => void this.loadMore()}>Show more of ${grouped(total)}</button>
            </p>`
          : nothing
      }`;
  }

  private renderRow(row: ComparedTrace, common: ReadonlySet<string>) {
    const trace = { ...traceRoute(row.id), line: this.route.headLine || this.route.line };
    return html`<tr>
      <td data-label="Verdict">
        <span class="verdict ${row.verdict.replace(" ", "-")}" title=${row.reason}>${row.verdict}</span>
        ${row.conditional ? html`<div class="second">one value: measure again</div>` : nothing}
        ${row.decides ? nothing : html`<div class="second">beside the main value</div>`}
      </td>
      <th scope="row" data-label="Trace">
        <a href=${routeUrl(trace)}><bdi>${longName(traceText(row.params, common) || traceText(row.params))}</bdi></a>
      </th>
      <td class="figure" data-label="Change">
        ${changeWithInterval(row) || html`<span class="faint">${row.reason}</span>`}
      </td>
      <td class="figure" data-label="Before → after">${comparedLevels(row)}</td>
      <td data-label="Values">${drawSides(row)}</td>
      <td class="figure faint" data-label="Could be seen">${detectableText(row)}</td>
    </tr>`;
  }

  private async loadMore(): Promise<void> {
    const { value } = this.comparison;
    if (!value) return;
    const { route } = this;
    try {
      const next = await this.load(route, this.repository, value.traces.length);
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
