/** What the status page says about files, events, workers and devices. */

import { html, nothing } from "lit";
import type { InstanceStatus, RetryRequest } from "../../api/client";
import { timestamp } from "../../templates/commit";
import { countText, grouped } from "../../text/numbers";

/** What the parts of the page share with its element. */
export interface RetryContext {
  readonly mayRetry: boolean;
  readonly busy: boolean;
  retry: (request: RetryRequest) => Promise<void>;
}

function retryButton(context: RetryContext, text: string, request: RetryRequest, label = text) {
  if (!context.mayRetry) return nothing;
  return html`<button
    class="button small"
    aria-label=${label}
    ?disabled=${context.busy}
    @click=${() => void context.retry(request)}
  >
    ${text}
  </button>`;
}

const FILE_STATES: Record<string, string> = {
  stored: "imported",
  waiting: "waiting",
  quarantined: "refused",
  removed: "removed",
};

export function renderFiles(context: RetryContext, { files }: InstanceStatus) {
  if (!files) return nothing;
  const { counts, waiting, refused, recent } = files;
  const counted = Object.entries(counts)
    .filter(([name, number]) => number > 0 || name !== "removed")
    .map(([name, number]) => `${grouped(number)} ${FILE_STATES[name] ?? name}`);
  return html`<section class="part">
    <h2>Results files</h2>
    <p>${counted.join(", ")}.</p>
    ${
      refused.length > 0
        ? html`<h3 class="inner">Refused ${more(refused.length, counts.quarantined ?? 0)}</h3>
            <div class="wide">
              <table class="records" aria-label="Refused files">
                <thead>
                  <tr>
                    <th scope="col">File</th>
                    <th scope="col">Why</th>
                    <th scope="col" class="number">Tries</th>
                    <th scope="col">Since</th>
                    ${context.mayRetry ? html`<th scope="col"><span class="sr-only">Try again</span></th>` : nothing}
                  </tr>
                </thead>
                <tbody>
                  ${refused.map(
                    (file) =>
                      html`<tr>
                        <th scope="row" data-label="File"><bdi>${file.source}</bdi></th>
                        <td data-label="Why">
                          <span
                            >${file.error}${file.where && file.where !== file.source ? ` (${file.where})` : ""}.
                            <span class="faint">${file.remedy}</span></span
                          >
                        </td>
                        <td class="number figure" data-label="Tries">${file.attempts}</td>
                        <td data-label="Since">${timestamp(file.since)}</td>
                        ${
                          context.mayRetry
                            ? html`<td class="act">
                                ${retryButton(context, "Try again", { files: [file.id] }, `Try ${file.source} again`)}
                              </td>`
                            : nothing
                        }
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>
            ${
              context.mayRetry && refused.length > 1
                ? html`<p>${retryButton(context, "Try the first 20 again", { files: refused.map(({ id }) => id) })}</p>`
                : nothing
            }`
        : nothing
    }
    ${
      waiting.length > 0
        ? html`<h3 class="inner">Waiting for their commits ${more(waiting.length, counts.waiting ?? 0)}</h3>
            <ul>
              ${waiting.map(
                ({ source, repository, unknown, since }) =>
                  html`<li>
                    <bdi>${source}</bdi> waits for <code>${unknown.join(", ")}</code> of <bdi>${repository}</bdi> since
                    ${timestamp(since)}
                  </li>`,
              )}
            </ul>`
        : nothing
    }
    <h3 class="inner">Newest</h3>
    <ul>
      ${recent.map(
        ({ source, state, format, runs, changed }) =>
          html`<li>
            <bdi>${source}</bdi>
            <span class="faint"
              >${FILE_STATES[state]}${format ? ` as ${format}, ${countText(runs, "run")}` : ""},
              ${timestamp(changed)}</span
            >
          </li>`,
      )}
    </ul>
  </section>`;
}

function more(shown: number, total: number): string {
  return total > shown ? `(${shown} of ${grouped(total)})` : "";
}

export function renderEvents(context: RetryContext, { events, dead_events: dead, dead_total: total }: InstanceStatus) {
  if (!events) return nothing;
  return html`<section class="part">
    <h2>Events</h2>
    ${
      events.length > 0
        ? html`<ul>
            ${events.map(
              ({ consumer, kind, count }) =>
                html`<li>${countText(count, "event")} <code>${kind}</code> for <code>${consumer}</code></li>`,
            )}
          </ul>`
        : html`<p>No event waits.</p>`
    }
    ${
      total > 0
        ? html`<h3 class="inner">Given up ${more(dead.length, total)}</h3>
            <ul>
              ${dead.map(
                ({ id, kind, created, attempts, reason }) =>
                  html`<li>
                    <code>${kind}</code> ${id} of ${timestamp(created)} after ${countText(attempts, "attempt")}:
                    ${reason}
                  </li>`,
              )}
            </ul>
            <p>${retryButton(context, "Process them again", { events: true })}</p>`
        : nothing
    }
  </section>`;
}

export function renderWorkers({ workers, devices }: InstanceStatus) {
  return html`<section class="part">
      <h2>Workers</h2>
      ${
        workers.length === 0
          ? html`<p>No worker runs: <code>knick worker</code> starts one.</p>`
          : html`<ul>
              ${workers.map(
                ({ name, state, seen, reason, slowed }) =>
                  html`<li>
                    <strong class=${state === "working" ? "" : "bad"}>${state}</strong>: <bdi>${name}</bdi>
                    <span class="faint">seen ${timestamp(seen)}</span> ${state === "failing" ? reason : nothing}
                    ${slowed ? html`<strong class="bad">slowed down</strong>: values are sent to those who detect. ${slowed}` : nothing}
                  </li>`,
              )}
            </ul>`
      }
    </section>
    <section class="part">
      <h2>Devices</h2>
      ${
        devices.length === 0
          ? html`<p>No device made a probe in the last 7 days.</p>`
          : html`<ul>
              ${devices.map(
                ({ name, probes, lost, last }) =>
                  html`<li>
                    <bdi>${name}</bdi>: ${countText(probes, "probe")} in 7
                    days${lost > 0 ? html`, <strong class="bad">lost during ${grouped(lost)}</strong>` : nothing},
                    <span class="faint">last ${timestamp(last)}</span>
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
}
