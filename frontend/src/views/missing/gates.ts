/** The gates: which commits are measured, what waits, and what filling may still take. */

import { html, nothing } from "lit";
import type { Gate } from "../../api/client";
import { durationText } from "../../text/bisections";
import { timestampText } from "../../text/dates";
import { grouped } from "../../text/numbers";

export function renderGates(gates: readonly Gate[]) {
  if (gates.length === 0) return nothing;
  return html`<section aria-labelledby="gates-title">
    <div class="page-head">
      <h2 id="gates-title">Gates</h2>
      <p class="faint">Which commits are measured, by the rules of the configuration. A worker runs them.</p>
    </div>
    ${gates.map(renderGate)}
  </section>`;
}

function renderGate(gate: Gate) {
  const { waiting = 0, running = 0, measured = 0, skipped = 0, failed = 0 } = gate.states;
  return html`${gate.problem ? html`<p class="notice">${gate.name}: ${gate.problem}. ${gate.remedy}</p>` : nothing}
    <div class="page-head">
      <h3>${gate.name}</h3>
      <p class="faint">${gate.repository}, branch ${gate.branch}: ${gate.policy}</p>
    </div>
    <table class="records">
      <caption class="sr-only">
        The gate ${gate.name} now
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
          <td data-label="New commits">${grouped(gate.new)}</td>
          <td data-label="Next by">${gate.due ? timestampText(gate.due) : "–"}</td>
          <td data-label="Waiting">${grouped(waiting)}</td>
          <td data-label="Running">${grouped(running)}</td>
          <td data-label="Measured">${grouped(measured)}</td>
          <td data-label="Skipped or failed">${grouped(skipped + failed)}</td>
          <td data-label="Filling, last 24 hours">${renderBudget(gate)}</td>
        </tr>
      </tbody>
    </table>
    ${gate.newest.length > 0 ? renderProbes(gate) : nothing}`;
}

function renderBudget(gate: Gate) {
  if (gate.fill_hours === 0) return "off";
  return html`${durationText(gate.fill_spent_hours * 3600)} of ${durationText(gate.fill_hours * 3600)}`;
}

function renderProbes(gate: Gate) {
  return html`<details class="gate-probes">
    <summary>Newest probes</summary>
    <table class="records">
      <caption class="sr-only">
        The newest probes of the gate ${gate.name}
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
        ${gate.newest.map(
          (probe) =>
            html`<tr>
              <td data-label="Commit"><code class="hash">${probe.commit.slice(0, 9)}</code></td>
              <td data-label="For">
                ${probe.purpose === "fill" && probe.change > 0 ? `R${probe.change}` : probe.purpose}
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
