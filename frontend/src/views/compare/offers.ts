/** What to compare, before there is a base: the newest commits with results, and the newest release before them. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Commit } from "../../api/client";
import { PageElement } from "../../page-element";
import { compareRoute, type CompareRoute } from "../../routes/compare";
import { routeUrl } from "../../routes/routes";
import { Resource } from "../../state/resource";
import { commitLink } from "../../templates/change-table";
import { date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";

const OFFERED = 10;

interface Offer {
  commit: Commit;
  /** The commit with results before it. */
  before: Commit | undefined;
  /** The name of its release; "" for none. */
  release: string;
}

@customElement("kp-compare-offers")
export class CompareOffers extends PageElement {
  @property({ attribute: false }) route: CompareRoute = compareRoute;
  @property() repository = "";

  private readonly offers = new Resource<readonly [string, string], readonly Offer[]>(this, {
    args: () => [this.repository, this.route.line],
    load: ([repository, line], signal) => loadOffers(repository, line, signal),
  });

  override render() {
    const { value, error } = this.offers;
    if (error) return errorNotice(error, () => this.offers.reload());
    if (!value) return loadingNotice("Looking for the newest results");
    const [newest] = value;
    if (!newest?.before) {
      return html`<div class="notice">
        <h2>Fewer than two commits have results</h2>
        <p>Import more with <code>knick import</code>, or compare two results files.</p>
      </div>`;
    }
    return html`<section class="part">
      <h2>Recent commits with results</h2>
      <p class="faint">Choose a comparison, or type words of a subject, a hash, a tag or a day above.</p>
      <table class="records" aria-label="Recent commits with results">
        <thead>
          <tr>
            <th scope="col">Commit</th>
            <th scope="col">Date</th>
            <th scope="col">Compare</th>
          </tr>
        </thead>
        <tbody>
          ${value.map((offer) => this.renderOffer(offer, newest.commit))}
        </tbody>
      </table>
    </section>`;
  }

  private renderOffer({ commit, before, release }: Offer, newest: Commit) {
    return html`<tr>
      <th scope="row" data-label="Commit">
        ${commitLink(commit, this.repository)}
        ${release ? html`<span class="tag"><bdi>${release}</bdi></span>` : nothing}
      </th>
      <td data-label="Date">${date(commit.time)}</td>
      <td data-label="Compare">
        <span class="offer-links">
          ${before ? this.renderLink(before, commit, "with the one before") : nothing}
          ${commit === newest ? nothing : this.renderLink(commit, newest, "with the newest")}
        </span>
      </td>
    </tr>`;
  }

  private renderLink(base: Commit, head: Commit, text: string) {
    const route = { ...this.route, repository: this.repository, base: base.hash, head: head.hash };
    return html`<a href=${routeUrl(route)}>${text}<span class="sr-only">: ${base.short} … ${head.short}</span></a>`;
  }
}

async function loadOffers(repository: string, line: string, signal: AbortSignal): Promise<readonly Offer[]> {
  const [commits, releases] = await Promise.all([
    api.measuredCommits(repository, line, OFFERED + 1, signal),
    line ? [] : api.releases(repository, signal), // releases are of the default line
  ]);
  const names = new Map(releases.map(({ position, name }) => [position, name]));
  const offers = commits.slice(0, OFFERED).map((commit, index) => ({
    commit,
    before: commits[index + 1],
    release: commit.position === null ? "" : (names.get(commit.position) ?? ""),
  }));
  if (offers.slice(1).some(({ release }) => release)) return offers;
  const oldest = offers.at(-1)?.commit.position ?? 0;
  const [last] = releases.flatMap(({ name, position }) =>
    position !== null && position < oldest ? [{ name, position }] : [],
  );
  if (!last) return offers;
  const [commit] = (await api.commits(repository, line, last.position, 1)).commits;
  return commit ? [...offers, { commit, before: undefined, release: last.name }] : offers;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-compare-offers": CompareOffers;
  }
}
