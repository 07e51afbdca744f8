/** Alert quality: what people decided about the findings of each alert, labels in doubt, noisy traces, proposals. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type AlertQuality, type Caller } from "../../api/client";
import { PageElement } from "../../page-element";
import { navigate } from "../../routes/navigation";
import { qualityRoute, type QualityRoute } from "../../routes/quality";
import { isAllowedSomewhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { grouped } from "../../text/numbers";
import { formatHours, formatInterval, formatShare, formatSmallest } from "../../text/quality";
import "./proposals";

type Row = AlertQuality["total"];

const PERIODS: [string, string][] = [
  ["", "All findings"],
  ["30", "Last 30 days"],
  ["90", "Last 90 days"],
  ["365", "Last 365 days"],
];
const DAY_MS = 86_400_000;

@customElement("kp-quality")
export class QualityView extends PageElement {
  @property({ attribute: false }) route: QualityRoute = qualityRoute;
  @property({ attribute: false }) caller!: Caller;
  /** The begin of the period that is shown. */
  private since: string | undefined;

  private readonly quality = new Resource<readonly [number | undefined], AlertQuality>(this, {
    args: () => [this.route.days],
    load: ([days], signal) => {
      this.since = sinceDays(days);
      return api.alertQuality(this.since, signal);
    },
    keepWhileLoading: () => true,
  });

  override render() {
    const { value, error } = this.quality;
    return html`<div class="page-head">
        <h1>Alert quality</h1>
        <p class="faint">
          How often alerts are right and what they miss, by what people decided. Findings that are history do not count.
        </p>
      </div>
      <form class="tools" @submit=${(event: SubmitEvent) => event.preventDefault()}>
        ${selectField("Findings made in", String(this.route.days ?? ""), PERIODS, (chosen) =>
          navigate({ ...this.route, days: chosen === "" ? undefined : Number(chosen) }, "push"),
        )}
      </form>
      ${error ? errorNotice(error, () => this.quality.reload()) : nothing}
      ${value ? this.renderQuality(value) : error ? nothing : loadingNotice("Measuring the alerts")}`;
  }

  private renderQuality(quality: AlertQuality) {
    return html`${renderAlerts(quality)}
      <kp-proposals
        .quality=${quality}
        .since=${this.since}
        .mayDecide=${isAllowedSomewhere(this.caller, "admin")}
        @kp-proposal-decided=${() => this.quality.reload()}
      ></kp-proposals>
      ${renderDoubts(quality)} ${renderNoisiest(quality)}`;
  }
}

function renderAlerts({ alerts, total }: AlertQuality) {
  const rows = alerts.length === 1 ? alerts : [...alerts, total];
  return html`<div class="wide">
    <table class="records quality">
      <caption>
        Decisions by alert and method
      </caption>
      <thead>
        <tr>
          <th scope="col">Alert</th>
          <th scope="col">Method</th>
          <th scope="col" class="number">Findings</th>
          <th scope="col" class="number">Acknowledged</th>
          <th scope="col" class="number">Ticket</th>
          <th scope="col" class="number">Hidden</th>
          <th scope="col" class="number">Undecided</th>
          <th scope="col" class="number">Missed</th>
          <th scope="col" class="number">Precision</th>
          <th scope="col" class="number">Recall</th>
          <th scope="col" class="number" title="Median, from the commit to the finding">Time to find</th>
          <th scope="col" class="number" title="Median, from the finding to the decision">Time to decide</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(renderAlert)}
      </tbody>
    </table>
  </div>`;
}

function renderAlert(row: Row) {
  const counts: [string, number][] = [
    ["Findings", row.findings],
    ["Acknowledged", row.acknowledged],
    ["Ticket", row.ticketed],
    ["Hidden", row.hidden],
    ["Undecided", row.undecided],
    ["Missed", row.missed],
  ];
  return html`<tr>
    <th scope="row" data-label="Alert"><bdi>${row.alert || "All alerts"}</bdi></th>
    <td data-label="Method">${row.method}</td>
    ${counts.map(([label, count]) => html`<td class="number" data-label=${label}>${grouped(count)}</td>`)}
    <td class="number" data-label="Precision">${renderRate(row.precision)}</td>
    <td class="number" data-label="Recall">${renderRate(row.recall)}</td>
    <td class="number" data-label="Time to find">${formatHours(row.to_finding.median)}</td>
    <td class="number" data-label="Time to decide">${formatHours(row.to_decision.median)}</td>
  </tr>`;
}

function renderRate(rate: Row["precision"]) {
  return html`${formatShare(rate.share)}
    <span class="faint" title="95 % interval of ${rate.part} of ${rate.whole}">${formatInterval(rate)}</span>`;
}

function renderDoubts({ doubts }: AlertQuality) {
  const found = doubts.filter(({ count }) => count > 0);
  return html`<section aria-labelledby="quality-doubts">
    <h2 id="quality-doubts">Doubtful decisions</h2>
    ${found.length === 0 ? html`<p class="faint">No decision contradicts its ticket, later data or the others of its change.</p>` : nothing}
    ${found.map(
      ({ meaning, count, newest }) =>
        html`<details>
          <summary>${grouped(count)} ${count === 1 ? "finding" : "findings"}: ${meaning}</summary>
          <ul class="plain">
            ${newest.map(
              (each) =>
                html`<li>
                  <a href="/trace/${each.trace}">${each.finding}</a> of ${each.change}, ${each.status}
                  ${each.ticket ? html`(<bdi>${each.ticket}</bdi>)` : nothing} <bdi>${each.trace_key}</bdi>
                </li>`,
            )}
          </ul>
          ${count > newest.length ? html`<p class="faint">The newest ${newest.length} of them.</p>` : nothing}
        </details>`,
    )}
  </section>`;
}

function renderNoisiest({ noisiest }: AlertQuality) {
  if (noisiest.length === 0) return nothing;
  return html`<div class="wide">
    <table class="records quality">
      <caption>
        Noisiest traces
      </caption>
      <thead>
        <tr>
          <th scope="col">Trace</th>
          <th scope="col" class="number">Findings</th>
          <th scope="col" class="number">Hidden</th>
          <th scope="col" class="number">Real</th>
          <th scope="col" class="number">Gone</th>
          <th scope="col" class="number">Of all hidden</th>
          <th scope="col" class="number">Up to here</th>
          <th scope="col" class="number" title="The smallest change visible in 20 new values, relative to the level">
            Smallest change
          </th>
        </tr>
      </thead>
      <tbody>
        ${noisiest.map(
          (each) =>
            html`<tr>
              <th scope="row" data-label="Trace">
                <a href="/trace/${each.trace_id}"><bdi>${each.trace_key}</bdi></a>
              </th>
              <td class="number" data-label="Findings">${each.findings}</td>
              <td class="number" data-label="Hidden">${each.hidden}</td>
              <td class="number" data-label="Real">${each.real}</td>
              <td class="number" data-label="Gone">${each.gone}</td>
              <td class="number" data-label="Of all hidden">${formatShare(each.share)}</td>
              <td class="number" data-label="Up to here">${formatShare(each.cumulated)}</td>
              <td class="number" data-label="Smallest change">${formatSmallest(each.smallest_change)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function sinceDays(days: number | undefined): string | undefined {
  return days === undefined ? undefined : new Date(Date.now() - days * DAY_MS).toISOString();
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-quality": QualityView;
  }
}
