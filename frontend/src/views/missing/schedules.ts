/** The schedules: which commits are measured, what waits, and what filling may still take. */

import { html, nothing } from "lit";
import type { Schedule } from "../../api/client";
import { durationText } from "../../text/bisections";
import { timestampText } from "../../text/dates";
import { grouped } from "../../text/numbers";

export function renderSchedules(schedules: readonly Schedule[]) {
  if (schedules.length === 0) return nothing;
  return html`<section aria-labelledby="schedules-title">
    <div class="page-head">
      <h2 id="schedules-title">Schedules</h2>
      <p class="faint">Which commits are measured, by the rules of the configuration. A worker runs them.</p>
    </div>
    ${schedules.map(renderSchedule)}
  </section>`;
}

function renderSchedule(schedule: Schedule) {
  const { waiting = 0, running = 0, measured = 0, skipped = 0, failed = 0 } = schedule.states;
  return html`${schedule.problem ? html`<p class="notice">${schedule.name}: ${schedule.problem}. ${schedule.remedy}</p>` : nothing}
    <div class="page-head">
      <h3>${schedule.name}</h3>
      <p class="faint">${schedule.repository}, branch ${schedule.branch}: ${schedule.policy}</p>
    </div>
    <table class="records">
      <caption class="sr-only">
        The schedule ${schedule.name} now
      </caption>
      <thead>
        <tr>
          <th scope="col">New commits</th>
          <th scope="col">Next by</th>
          <th scope="col">Waiting</th>
          <th scope="col">Running</th>
          <th scope="col">Measured</th>
          <th scope="col">Skipped or failed</th>
          <th scope="col">Filling, last 24 hours</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td data-label="New commits">${grouped(schedule.new)}</td>
          <td data-label="Next by">${schedule.due ? timestampText(schedule.due) : "–"}</td>
          <td data-label="Waiting">${grouped(waiting)}</td>
          <td data-label="Running">${grouped(running)}</td>
          <td data-label="Measured">${grouped(measured)}</td>
          <td data-label="Skipped or failed">${grouped(skipped + failed)}</td>
          <td data-label="Filling, last 24 hours">${renderBudget(schedule)}</td>
        </tr>
      </tbody>
    </table>
    ${schedule.newest.length > 0 ? renderProbes(schedule) : nothing}`;
}

function renderBudget(schedule: Schedule) {
  if (schedule.fill_hours === 0) return "off";
  return html`${durationText(schedule.fill_spent_hours * 3600)} of ${durationText(schedule.fill_hours * 3600)}`;
}

function renderProbes(schedule: Schedule) {
  return html`<details class="scheduled-probes">
    <summary>Newest probes</summary>
    <table class="records">
      <caption class="sr-only">
        The newest probes of the schedule ${schedule.name}
      </caption>
      <thead>
        <tr>
          <th scope="col">Commit</th>
          <th scope="col">For</th>
          <th scope="col">State</th>
          <th scope="col">Device</th>
          <th scope="col">Time</th>
          <th scope="col">Chosen</th>
        </tr>
      </thead>
      <tbody>
        ${schedule.newest.map(
          (probe) =>
            html`<tr>
              <td data-label="Commit"><code class="hash">${probe.commit.slice(0, 10)}</code></td>
              <td data-label="For">
                ${probe.purpose === "fill" && probe.change !== null ? probe.change : probe.purpose}
              </td>
              <td data-label="State">${probe.state}${probe.reason ? html`: ${probe.reason}` : nothing}</td>
              <td data-label="Device">${probe.device || "–"}</td>
              <td data-label="Time">${probe.seconds > 0 ? durationText(probe.seconds) : "–"}</td>
              <td data-label="Chosen">${timestampText(probe.chosen)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}
