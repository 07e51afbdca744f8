/** The overview, the first page: what happened since a person last looked, what waits, and how each repository goes. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, type ChangeList, type Notice, type Overview, type Repository } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { navigate } from "../../routes/navigation";
import { overviewRoute, type OverviewRoute } from "../../routes/overview";
import { triageRoute } from "../../routes/triage";
import { listFilter } from "../../state/triage/triage-list";
import { look } from "../../state/last-look";
import { Resource } from "../../state/resource";
import { loadViews, type SavedView } from "../../state/saved-views";
import { directionKey } from "../../templates/finding";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { dayText, timestampText } from "../../text/dates";
import {
  renderFailing,
  renderFigures,
  renderHistory,
  renderNews,
  renderQuiet,
  renderStart,
  renderTurning,
} from "./parts";
import "./repository-trends";

const PERIODS: readonly (readonly [string, string])[] = [
  ["", "Since I last looked"],
  ["1", "In the last day"],
  ["7", "In the last 7 days"],
  ["30", "In the last 30 days"],
];
const DAY_MS = 86_400_000;
/** Repositories whose sums are shown together; of more, a person chooses one. */
const MOST_REPOSITORIES = 8;
/** Traces up to which the page looks for benchmarks that stopped: that reads all their values. */
const MOST_WATCHED_TRACES = 50_000;

const MOST_OF_HISTORY = 6;

function isQuiet({ waiting, news }: Overview): boolean {
  return waiting === 0 && news.length === 0;
}

@customElement("kp-overview")
export class OverviewView extends PageElement {
  @property({ attribute: false }) route: OverviewRoute = overviewRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @state() private lastLook: number | undefined;
  @state() private pinned: readonly SavedView[] = [];

  private readonly overview = new Resource<readonly [string, string], Overview>(this, {
    args: () => (this.since === undefined ? undefined : [this.since, this.route.repository]),
    load: ([since, repository], signal) => api.overview(since, repository, signal),
    keepWhileLoading: () => true,
  });

  private readonly notices = new Resource<readonly [], readonly Notice[]>(this, {
    args: () => (this.overview.value && this.isSmall ? [] : undefined),
    load: (_, signal) => api.notices(signal),
  });

  /** What history holds, where nothing waits and nothing happened: an import makes all changes history. */
  private readonly history = new Resource<readonly [string], ChangeList>(this, {
    args: () => (this.overview.value && isQuiet(this.overview.value) ? [this.route.repository] : undefined),
    load: ([repository], signal) => {
      const filter = listFilter({ ...triageRoute, tab: "history", repository });
      return api.changes({ ...filter, sort: "-change", page: 1, size: MOST_OF_HISTORY, members: 1 }, signal);
    },
  });

  override connectedCallback(): void {
    super.connectedCallback();
    look().then(
      ({ since }) => (this.lastLook = since),
      () => (this.lastLook = Date.now() - 7 * DAY_MS),
    );
    window.addEventListener("kp-views", this.onViews);
    this.onViews();
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-views", this.onViews);
    super.disconnectedCallback();
  }

  private readonly onViews = (): void =>
    void loadViews().then(
      (views) => (this.pinned = views.filter(({ pinned }) => pinned)),
      () => (this.pinned = []),
    );

  /** The time from which on things are new; undefined until it is known when the person last looked. */
  private get since(): string | undefined {
    const { days } = this.route;
    if (days !== undefined) return new Date(this.openedAt - days * DAY_MS).toISOString();
    return this.lastLook === undefined ? undefined : new Date(this.lastLook).toISOString();
  }

  private readonly openedAt = Date.now();

  private get isSmall(): boolean {
    return this.repositories.reduce((sum, { traces }) => sum + traces, 0) <= MOST_WATCHED_TRACES;
  }

  private get shown(): readonly Repository[] {
    const { repository } = this.route;
    const measured = this.repositories.filter(({ traces }) => traces > 0);
    return repository ? measured.filter(({ name }) => name === repository) : measured.slice(0, MOST_REPOSITORIES);
  }

  override render() {
    if (this.repositories.every(({ traces }) => traces === 0)) return renderEmpty();
    const { value, error } = this.overview;
    const several = this.repositories.length > 1;
    const history = value && isQuiet(value) ? this.history.value : undefined;
    return html`<div class="page-head">
        <h1>Overview</h1>
        ${this.renderTools()}
      </div>
      ${this.renderPinned()} ${error ? errorNotice(error, () => this.overview.reload()) : nothing}
      ${
        value
          ? html`${renderFailing(value)} ${renderStart(value, this.route, several)}
            ${history && (history.history > 0 ? renderHistory(history, this.route, several) : renderQuiet(this.since))}
            ${renderFigures(value, this.notices.value, this.route)}
            ${renderTurning(this.notices.value, this.route.repository)}`
          : error
            ? nothing
            : loadingNotice("Loading what happened")
      }
      ${
        this.shown.length > 0
          ? html`<p class="part lanes-key">
              ${directionKey()}.
              <span class="faint">Larger marks are larger changes; after grey ones, the level before came back.</span>
            </p>`
          : nothing
      }
      ${this.shown.map(
        (repository) =>
          html`<kp-repository-trends
            .repository=${repository}
            .route=${this.route}
            .single=${this.shown.length === 1}
          ></kp-repository-trends>`,
      )}
      ${this.renderOthers()} ${value ? renderNews(value, several) : nothing}`;
  }

  private renderPinned() {
    if (this.pinned.length === 0) return nothing;
    return html`<nav class="pinned-views" aria-label="Pinned views">
      ${this.pinned.map(({ name, url }) => html`<a class="button small" href=${url}><bdi>${name}</bdi></a>`)}
    </nav>`;
  }

  private renderTools() {
    const { days } = this.route;
    if (PUBLISHED !== undefined) return this.renderRepositoryChoice();
    const names = this.repositories.map(({ name }) => [name, name] as const);
    const since = this.since ?? null;
    return html`<form class="tools" @submit=${(event: SubmitEvent) => event.preventDefault()}>
      ${selectField("What happened", String(days ?? ""), PERIODS, (chosen) =>
        navigate({ ...this.route, days: chosen === "" ? undefined : Number(chosen) }),
      )}
      ${names.length > 1 ? this.repositoryField() : nothing}
      ${since ? html`<span class="faint" title=${timestampText(since)}>since ${dayText(since)}</span>` : nothing}
    </form>`;
  }

  private repositoryField() {
    const names = this.repositories.map(({ name }) => [name, name] as const);
    return selectField("Repository", this.route.repository, [["", "All repositories"], ...names], (chosen) =>
      navigate({ ...this.route, repository: chosen, query: "", by: "" }),
    );
  }

  /** Published pages have the news of one range of time. */
  private renderRepositoryChoice() {
    return this.repositories.length > 1 ? html`<div class="tools">${this.repositoryField()}</div>` : nothing;
  }

  private renderOthers() {
    const more = this.repositories.length - this.shown.length;
    if (this.route.repository || more <= 0) return nothing;
    return html`<p class="faint part">There are ${more} more repositories. Choose one above to see how it goes.</p>`;
  }
}

function renderEmpty() {
  return html`<div class="notice">
    <h1>There are no results yet</h1>
    <p>Import some, then run the alerts:</p>
    <pre class="commands">
knick import results.json
knick run</pre>
  </div>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-overview": OverviewView;
  }
}
