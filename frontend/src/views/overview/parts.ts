/** What the overview says about findings: figures, alerts that fail, news, and the largest open changes. */

import { html, nothing } from "lit";
import type { AnnouncementKind, ChangeList, Notice, Overview, Statement } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import { missingRoute } from "../../routes/missing";
import type { OverviewRoute } from "../../routes/overview";
import { alertsRoute } from "../../routes/alerts";
import { routeUrl } from "../../routes/routes";
import { statusRoute } from "../../routes/status";
import { traceRoute } from "../../routes/trace";
import { triageRoute } from "../../routes/triage";
import { timestamp } from "../../templates/commit";
import { commitLink, changeTable } from "../../templates/change-table";
import { longName } from "../../templates/trace-name";
import { announcementWord } from "../../text/announcements";
import { causeNote, conditionTag, statedHeadline } from "../../templates/finding";
import { arrowOf, causeOf, changeCountsText } from "../../text/findings";
import { dayText } from "../../text/dates";
import { countText, grouped } from "../../text/numbers";
import { commonParams, paramsOf, traceText } from "../../text/trace-names";

interface Figure {
  label: string;
  number: number;
  href: string;
  /** Whether a person should look at it if it is not zero. */
  urgent?: boolean;
  note?: string;
}

export function renderFigures(overview: Overview, notices: readonly Notice[] | undefined, route: OverviewRoute) {
  const figures = figuresOf(overview, notices, route.repository);
  if (figures.length === 0) return nothing;
  return html`<ul class="figures" aria-label="What happened, and what is waiting">
    ${figures.map(
      ({ label, number, href, urgent, note }) =>
        html`<li class=${urgent && number > 0 ? "urgent" : ""}>
          <a href=${PUBLISHED !== undefined && SERVED.has(href) ? nothing : href}
            ><strong class="figure">${grouped(number)}</strong> <span>${label}</span>${
              note ? html` <span class="faint">${note}</span>` : nothing
            }</a
          >
        </li>`,
    )}
  </ul>`;
}

function figuresOf(overview: Overview, notices: readonly Notice[] | undefined, repository: string): Figure[] {
  const { announced, mine, canaries, quarantined, failing, devices } = overview;
  const announcedOf = (...kinds: AnnouncementKind[]): number =>
    kinds.reduce((sum, kind) => sum + (announced[kind] ?? 0), 0);
  const triage = (state: object): string => routeUrl({ ...triageRoute, repository, ...state });
  const stopped = notices?.filter(({ kind }) => kind === "silence").length ?? 0;
  const lost = devices.filter((device) => device.lost > 0);
  const figure = (number: number, one: string, several: string, href: string, more: Partial<Figure> = {}): Figure => ({
    label: number === 1 ? one : several,
    number,
    href,
    ...more,
  });
  const urgent = { urgent: true };
  const [regressed, improved] = [announcedOf("regressed"), announcedOf("improved")];
  const found = triage({ sort: "-found" });
  const better = triage({ sort: "-found", direction: "improvement" });
  const moved = triage({ alertKind: "canary" });
  const most = { urgent: true, note: devices.length > 0 ? `of ${devices.length} in 7 days` : "" };
  return [
    figure(regressed, "regression announced", "regressions announced", found),
    figure(improved, "improvement announced", "improvements announced", better),
    figure(announcedOf("recovered", "fixed"), "recovered or fixed", "recovered or fixed", triage({ tab: "processed" })),
    figure(announcedOf("withdrawn"), "withdrawn", "withdrawn", triage({ tab: "gone" })),
    figure(mine, "assigned to you", "assigned to you", triage({ tab: "processed" }), urgent),
    figure(canaries, "canary that moved", "canaries that moved", moved, urgent),
    figure(quarantined, "quarantined run", "quarantined runs", routeUrl(statusRoute), urgent),
    figure(stopped, "benchmark that stopped", "benchmarks that stopped", routeUrl(missingRoute), urgent),
    figure(failing.length, "alert that fails", "alerts that fail", routeUrl(alertsRoute), urgent),
    figure(lost.length, "device that was lost", "devices that were lost", routeUrl(statusRoute), most),
  ].filter(({ number }) => number > 0);
}

/** What a quiet day says. */
export function renderQuiet(since: string | undefined) {
  return html`<p class="part">
    Nothing needs you${since && html`, and nothing was announced since ${dayText(since)}`}.
  </p>`;
}

/** Where figures lead that published pages do not have. */
const SERVED: ReadonlySet<string> = new Set([routeUrl(statusRoute), routeUrl(missingRoute)]);

export function renderFailing({ failing, unwatched, environments }: Overview) {
  if (failing.length + unwatched + environments.length === 0) return nothing;
  return html`<ul class="overview-failing">
    ${environments.map(
      ({ repository, sentence, time }) =>
        html`<li>
          <strong><bdi>${repository}</bdi>, judged</strong> ${timestamp(time)}: <bdi>${sentence}</bdi>
        </li>`,
    )}
    ${
      unwatched > 0
        ? html`<li>
            <strong
              >${countText(unwatched, "change")} ${unwatched === 1 ? "is" : "are"} no longer watched by any
              alert.</strong
            >
            <a href=${routeUrl(alertsRoute)}>Alerts</a> say what is watched; an alert that watches them brings them
            back.
          </li>`
        : nothing
    }
    ${failing.map(({ name, reason }) => html`<li><strong>Alert ${name} fails:</strong> ${reason}</li>`)}
  </ul>`;
}

/** Findings that would turn between regression and improvement, until a person accepts it. */
export function renderTurning(notices: readonly Notice[] | undefined, repository: string) {
  const turning = notices?.filter(
    (each) => each.kind === "direction" && (!repository || each.repository === repository),
  );
  if (!turning?.length) return nothing;
  return html`<ul class="overview-failing">
    ${turning.map(({ text, ...each }) => html`<li><strong>Direction in ${each.repository}:</strong> ${longName(text)}</li>`)}
  </ul>`;
}

function renderTraceName(key: string, id: number | null, common: ReadonlySet<string>) {
  const name = html`<bdi>${longName(traceText(paramsOf(key), common))}</bdi>`;
  return id === null ? name : html`<a href=${routeUrl(traceRoute(id))}>${name}</a>`;
}

/** Where the values went when it was announced. */
function newsArrow(size: number | null): string {
  return size ? arrowOf({ size }) : "";
}

/** Whether a change has turned since it was announced: the arrow of its size then is no longer true. */
function isTurned(kind: AnnouncementKind, { side }: Statement): boolean {
  return (kind === "regressed" && side === "improvement") || (kind === "improved" && side === "regression");
}

export function renderNews({ news }: Overview, several: boolean) {
  if (news.length === 0) return nothing;
  const common = commonParams(news.map(({ trace }) => paramsOf(trace)));
  return html`<section class="part" aria-labelledby="news-title">
    <h2 id="news-title">News</h2>
    <div class="wide">
      <table class="records">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Trace</th>
            <th scope="col">Change, as it is now</th>
            <th scope="col">Commit</th>
            <th scope="col">Announced</th>
          </tr>
        </thead>
        <tbody>
          ${news.map(
            ({ kind, trace, trace_id, traces, size, announced_size, statement, updated, commit, time, repository }) =>
              html`<tr>
                <td data-label="What">${announcementWord[kind]}</td>
                <th scope="row" data-label="Trace">
                  ${renderTraceName(trace, trace_id, common)}
                  ${traces > 1 ? html`<span class="faint">and ${countText(traces - 1, "other")}</span>` : nothing}
                </th>
                <td data-label="Change">
                  <span
                    >${
                      statement
                        ? html`${statedHeadline(statement, isTurned(kind, statement) ? "" : newsArrow(size))}
                          ${conditionTag(statement, repository)}`
                        : nothing
                    }
                    ${updated ? html`<span class="faint">announced as ${announced_size}</span>` : nothing}</span
                  >
                </td>
                <td data-label="Commit">
                  <span
                    >${
                      commit
                        ? html`${commitLink(causeOf({ commit, statement }), repository)} ${causeNote(statement, 1)}`
                        : nothing
                    }
                    ${several ? html`<span class="faint">· <bdi>${repository}</bdi></span>` : nothing}</span
                  >
                </td>
                <td data-label="Announced">${timestamp(time)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Where to start: the worst of the changes that wait for a decision, with their likely commits. */
export function renderStart(overview: Overview, { repository }: OverviewRoute, several: boolean) {
  const { largest, waiting, waiting_directions: directions } = overview;
  if (waiting === 0) return nothing;
  const need =
    PUBLISHED === undefined
      ? `${waiting === 1 ? "needs" : "need"} you`
      : `${waiting === 1 ? "waits" : "wait"} for a decision`;
  const title = `Start here: ${countText(waiting, "change")} ${need}`;
  return html`<section class="part start" aria-labelledby="start-title">
    <h2 id="start-title">${title}</h2>
    ${largest.length > 0 ? changeTable(largest, { repository: several, label: "The worst of them" }) : nothing}
    <p>
      <a href=${routeUrl({ ...triageRoute, repository })}
        >All ${countText(waiting, "change")} to triage (${changeCountsText(directions)})</a
      >
    </p>
  </section>`;
}

/** What history holds, where nothing else is to say: after an import, all changes are history. */
export function renderHistory({ history, changes }: ChangeList, { repository }: OverviewRoute, several: boolean) {
  return html`<section class="part" aria-labelledby="history-title">
    <h2 id="history-title">History holds ${countText(history, "change")}; nothing needs you</h2>
    <p class="faint">They were there before the first run. New results are compared with the newest levels.</p>
    ${changeTable(changes, { repository: several, label: "The worst of history" })}
    <p>
      <a href=${routeUrl({ ...triageRoute, tab: "history", repository })}
        >All ${countText(history, "change")} of history</a
      >
    </p>
  </section>`;
}
