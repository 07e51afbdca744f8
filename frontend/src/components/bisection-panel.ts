/** The panel "Find the commit": start a bisection of a change, watch it, stop it, see what it found. */

import { html, nothing, svg } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, toApiError, type ApiError, type BisectionDetail, type Probe } from "../api/client";
import { PageElement } from "../page-element";
import "./probe-plot";
import "./profile-difference";
import { Resource } from "../state/resource";
import { showToast } from "../state/toasts";
import { commitHash } from "../templates/commit";
import { errorNotice } from "../templates/notice";
import { certaintyText, durationText, hasEnded, probeText, stateText, summaryText } from "../text/bisections";
import { timestampText } from "../text/dates";
import { countText, percentText } from "../text/numbers";

const NO_RECIPE =
  "No recipe fits this change. A section [bisect.NAME] of knickpoint.toml says how its commits are built and measured.";
const POLL_MS = 2_000;
/** Commits that are listed with their probability. */
const MOST_COMMITS = 8;
const LEAST_PROBABILITY = 0.005;

@customElement("kp-bisection-panel")
export class BisectionPanel extends PageElement {
  @property() change = "";
  @property({ attribute: false }) mayDecide = false;
  @state() private recipe = "";
  @state() private failure: ApiError | undefined;
  @state() private busy = false;
  /** Whether the profiles are open. */
  @state() private profiles = false;

  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly recipes = new Resource(this, {
    args: () => [this.change] as const,
    load: ([change], signal) => api.bisectionRecipes(change, signal),
  });
  private readonly newest = new Resource(this, {
    args: () => [this.change] as const,
    load: ([change], signal) => loadNewest(change, signal),
    onAnswer: (found, before) => this.onAnswer(found, before),
  });

  override disconnectedCallback(): void {
    clearTimeout(this.timer);
    super.disconnectedCallback();
  }

  /** Lead to the form that starts a search; say why there is none. */
  async offer(): Promise<void> {
    await this.recipes.settled;
    await this.updateComplete;
    const button = this.querySelector<HTMLElement>(".bisection-start button");
    button?.scrollIntoView({ block: "nearest" });
    button?.focus();
    if (button || this.newest.value) return;
    const { error } = this.recipes;
    showToast({ text: error ? `${error.message} ${error.remedy}` : NO_RECIPE, failure: error !== undefined });
  }

  override render() {
    const found = this.newest.value;
    const recipes = this.recipes.value ?? [];
    const error = this.failure ?? this.newest.error;
    if (!found && recipes.length === 0) return nothing;
    return html`<section aria-labelledby="bisection-title" class="panel bisection">
      <h2 id="bisection-title">Find the commit</h2>
      ${error ? errorNotice(error, () => this.retry()) : nothing} ${found ? this.renderFound(found) : nothing}
      ${!found || hasEnded(found) ? this.renderStart(recipes, found !== undefined) : nothing}
    </section>`;
  }

  // ---- Start and stop

  private renderStart(recipes: readonly string[], again: boolean) {
    if (recipes.length === 0) return nothing;
    const explanation = html`<p class="faint">
      Commits of the suspect range are built and measured again, by the commands of the configuration, until one of them
      stands out. This may take hours; findings and messages change only when it ends.
    </p>`;
    if (!this.mayDecide) return again ? nothing : explanation;
    return html`${again ? nothing : explanation}
      <form class="bisection-start" @submit=${(event: Event) => this.start(event)}>
        <label class="select"
          >Recipe
          <select name="recipe" @change=${(event: Event) => (this.recipe = (event.target as HTMLSelectElement).value)}>
            ${recipes.map((name) => html`<option ?selected=${name === this.recipe}>${name}</option>`)}
          </select>
        </label>
        <button class="button" type="submit" ?disabled=${this.busy}>
          ${again ? "Search again" : "Find the commit"}
        </button>
      </form>`;
  }

  private start(event: Event): void {
    event.preventDefault();
    const recipe = this.recipe || (this.recipes.value?.[0] ?? "");
    void this.act(() => api.startBisection(this.change, recipe));
  }

  private async act(ask: () => Promise<BisectionDetail>): Promise<void> {
    this.busy = true;
    try {
      this.failure = undefined;
      await ask();
      this.newest.reload();
    } catch (thrown) {
      this.failure = toApiError(thrown);
    } finally {
      this.busy = false;
    }
  }

  private retry(): void {
    this.failure = undefined;
    this.newest.reload();
  }

  private onAnswer(found: BisectionDetail | undefined, before: BisectionDetail | undefined): void {
    clearTimeout(this.timer);
    if (found && !hasEnded(found)) this.timer = setTimeout(() => this.newest.reload(), POLL_MS);
    else if (before?.id !== undefined && before.id === found?.id && !hasEnded(before)) {
      window.dispatchEvent(new CustomEvent("kp-decided"));
    }
  }

  /** Where the found commit costs more than the one before it, for those who open it. */
  private renderProfiles(found: BisectionDetail) {
    return html`<details @toggle=${(event: Event) => (this.profiles = (event.target as HTMLDetailsElement).open)}>
      <summary>Profiles of the commit and the one before it</summary>
      ${
        this.profiles
          ? html`<kp-profile-difference
              .about=${found.id}
              .benchmarks=${found.profiled}
              .load=${(benchmark: string, signal?: AbortSignal) => api.foundFlameGraph(found.id, benchmark, signal)}
            ></kp-profile-difference>`
          : nothing
      }
    </details>`;
  }

  // ---- What is known

  private renderFound(found: BisectionDetail) {
    return html`<p class="bisection-state" aria-live="polite">
        <strong>${stateText(found)}.</strong> ${summaryText(found)}
      </p>
      ${found.culprits.map(
        (culprit) =>
          html`<p>${commitHash(culprit)} ${culprit.subject} <span class="faint">${culprit.author}</span></p>`,
      )}
      <p class="faint">
        ${found.id}: ${countText(found.commits, "commit")}, recipe ${found.recipe}, asked for by
        ${found.by_rule ? "rule" : found.who} on
        ${timestampText(found.asked)}${
          found.devices.length > 0
            ? html`; ${countText(found.devices.length, "device")}: ${found.devices.join(", ")}`
            : nothing
        }
      </p>
      ${
        this.mayDecide && !hasEnded(found) && !found.stopping
          ? html`<button
              class="button"
              ?disabled=${this.busy}
              @click=${() => void this.act(() => api.stopBisection(found.id))}
            >
              Stop
            </button>`
          : nothing
      }
      ${found.probe_list.length > 0 ? html`${renderBars(found)} <kp-probe-plot .found=${found}></kp-probe-plot> ${renderCommits(found)}` : nothing}
      ${found.probe_list.length > 0 ? renderProbes(found) : nothing}
      ${found.log.length > 0 ? renderLog(found) : nothing}
      ${found.profiled.length > 0 ? this.renderProfiles(found) : nothing}`;
  }
}

async function loadNewest(change: string, signal: AbortSignal): Promise<BisectionDetail | undefined> {
  const [newest] = await api.bisections(change, signal);
  return newest ? api.bisection(newest.id, signal) : undefined;
}

function renderBars(found: BisectionDetail) {
  const { candidates } = found;
  const width = 100 / candidates.length;
  const culprits = new Set(found.culprits.map((commit) => commit.hash));
  const bars = candidates.map(({ commit, probability }, place) => {
    const height = Math.max((probability ?? 0) * 100, probability === null ? 0 : 1);
    return svg`<rect class=${culprits.has(commit.hash) ? "culprit" : ""} x="${place * width + width * 0.1}%"
      y="${100 - height}%" width="${width * 0.8}%" height="${height}%"><title>${commit.short} ${commit.subject}: ${
        probability === null ? "good end" : percentText(probability)
      }</title></rect>`;
  });
  return html`<figure>
    <figcaption>Probability of each commit, from the good end to the bad end</figcaption>
    <svg class="bars" role="img" aria-label="Probability of each commit; the list below has the numbers">${bars}</svg>
  </figure>`;
}

function renderCommits(found: BisectionDetail) {
  const likely = found.candidates
    .filter(({ probability }) => (probability ?? 0) >= LEAST_PROBABILITY)
    .sort((left, right) => (right.probability ?? 0) - (left.probability ?? 0));
  return html`<ol class="suspects">
      ${likely.slice(0, MOST_COMMITS).map(
        ({ commit, probability }) =>
          html`<li>
            <span class="figure">${certaintyText(probability ?? 0)}</span> ${commitHash(commit)}
            <span class="subject" title=${commit.subject}>${commit.subject}</span>
            <span class="faint">${commit.author}</span>
          </li>`,
      )}
    </ol>
    <p class="faint">
      ${likely.length > MOST_COMMITS ? html`${countText(likely.length - MOST_COMMITS, "less likely commit")} left out. ` : nothing}
      ${found.none === null ? nothing : html`None of these commits: ${percentText(found.none)}; several: ${percentText(found.several ?? 0)}.`}
    </p>`;
}

function renderProbes(found: BisectionDetail) {
  return html`<details>
    <summary>${countText(found.probe_list.length, "probe")}</summary>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Probe</th>
            <th scope="col">Commit</th>
            <th scope="col">Device</th>
            <th scope="col">For</th>
            <th scope="col">Result</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          ${found.probe_list.map((probe) => renderProbe(probe, found))}
        </tbody>
      </table>
    </div>
  </details>`;
}

function renderProbe(probe: Probe, found: BisectionDetail) {
  const commit = found.candidates[probe.place]?.commit;
  return html`<tr>
    <td class="figure">${probe.number}</td>
    <td>${commit ? commitHash(commit) : nothing}</td>
    <td>${probe.device || "any"}</td>
    <td>${probe.purpose}</td>
    <td>
      ${probeText(probe, found.unit)}
      ${
        probe.output
          ? html`<details>
              <summary>output</summary>
              <pre>${probe.output}</pre>
            </details>`
          : nothing
      }
    </td>
    <td class="figure">${probe.seconds === null ? "" : durationText(probe.seconds)}</td>
  </tr>`;
}

function renderLog(found: BisectionDetail) {
  return html`<details>
    <summary>Log</summary>
    <ol class="bisection-log">
      ${found.log.map((line) => html`<li><time class="faint">${timestampText(line.time)}</time> ${line.text}</li>`)}
    </ol>
  </details>`;
}
