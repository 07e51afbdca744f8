/** What the probes of a bisection measured, by commit; once it has ended, also step by step, as it went. */

import { html, nothing, svg } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { BisectionDetail } from "../api/client";
import { PageElement } from "../page-element";
import { memoizeLast } from "../state/memoize";
import { commitHash } from "../templates/commit";
import { centre, devicesOf, hasEnded, probeDots, probeText, valueMarks, type ProbeDot } from "../text/bisections";
import { leftRange, leftText, replayedProbes } from "../text/replay";
import { valueText } from "../text/units";

/** With more commits than this, only the ends are named below the plot. */
const MOST_PLACES = 8;
const STEP_MS = 900;

@customElement("kp-probe-plot")
export class ProbePlot extends PageElement {
  @property({ attribute: false }) found!: BisectionDetail;
  /** How many probes the replay shows; all by default. */
  @state() private at: number | undefined;
  @state() private timer: ReturnType<typeof setInterval> | undefined;

  private readonly probesOf = memoizeLast(replayedProbes);

  override disconnectedCallback(): void {
    this.pause();
    super.disconnectedCallback();
  }

  override willUpdate(changed: Map<string, unknown>): void {
    const before = changed.get("found") as BisectionDetail | undefined;
    if (before && before.id !== this.found.id) this.go(undefined);
  }

  override render() {
    const { found } = this;
    const replayed = hasEnded(found) && this.last > 1;
    return html`<figure>
      ${this.renderCaption(replayed)}
      <svg class="dots" role="img" aria-label="Values of the probes by commit; the list of probes has the numbers">
        ${replayed ? this.renderRange() : nothing}
        ${found.candidates.map((_, place) => {
          const x = `${centre(place, found.candidates.length)}%`;
          return svg`<line x1=${x} x2=${x} y1="0" y2="100%"></line>`;
        })}
        ${this.renderDots(replayed)}
      </svg>
      ${renderPlaces(found)} ${replayed ? this.renderReplay() : nothing}
    </figure>`;
  }

  // ---- The replay

  private get probes() {
    return this.probesOf(this.found);
  }

  private get last(): number {
    return this.probes.length;
  }

  private get shown(): number {
    return Math.min(this.at ?? this.last, this.last);
  }

  /** The probe whose result is shown last; none before the first one. */
  private get newest() {
    return this.probes[this.shown - 1];
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private go(at: number | undefined): void {
    this.pause();
    this.at = at;
  }

  private play(): void {
    if (this.timer !== undefined) {
      this.pause();
      return;
    }
    if (this.shown === this.last) this.at = 0;
    this.timer = setInterval(() => {
      this.at = Math.min(this.shown + 1, this.last);
      if (this.shown === this.last) this.pause();
    }, STEP_MS);
  }

  private renderReplay() {
    const { shown, last } = this;
    const playing = this.timer !== undefined;
    const step = (by: number, name: string, sign: string) =>
      html`<button
        class="button small square"
        title=${name}
        aria-label=${name}
        ?disabled=${shown + by < 0 || shown + by > last}
        @click=${() => this.go(shown + by)}
      >
        ${sign}
      </button>`;
    return html`<div class="replay" role="group" aria-label="Replay of the search">
      <button class="button small" @click=${() => this.play()}>${playing ? "Pause" : "Replay"}</button>
      ${step(-1, "Previous probe", "‹")} ${step(1, "Next probe", "›")}
      <input
        type="range"
        aria-label="Probes that have ended"
        aria-valuetext="${shown} of ${last}"
        min="0"
        max=${last}
        .value=${String(shown)}
        @input=${(event: Event) => this.go(Number((event.target as HTMLInputElement).value))}
      />
      <p aria-live=${playing ? "off" : "polite"}>${this.renderStep()}</p>
    </div>`;
  }

  private renderStep() {
    const { newest, shown, last, found } = this;
    const left = leftText(newest, found);
    const commit = newest && found.candidates[newest.place]?.commit;
    if (!newest || !commit) return html`Before the first probe: ${left}.`;
    return html`Probe ${shown} of ${last}, ${PURPOSES[newest.purpose]}. ${commitHash(commit)}
      <span class="subject">${commit.subject}</span>: ${probeText(newest, found.unit)}.
      ${left && html`Afterwards: ${left}.`}`;
  }

  // ---- The plot

  private renderCaption(replayed: boolean) {
    const devices = devicesOf(this.found);
    const skipped = probeDots(this.found).some((dot) => dot.valueless);
    return html`<figcaption>
      What each probe
      measured${devices.length > 0 ? html`: ${devices.map((name, index) => html`<span class="device device-${index % 8}">● ${name}</span> `)}` : nothing}
      ${skipped ? html`<span>× no value</span>` : nothing}
      ${replayed ? html`<span>; shaded: the commits left</span>` : nothing}
    </figcaption>`;
  }

  /** The commits that are left, as a band from the last one without the change to the first with it. */
  private renderRange() {
    const range = leftRange(this.newest, this.found);
    if (!range) return nothing;
    const [before, after] = range;
    const places = this.found.candidates.length;
    const left = centre(before, places);
    return svg`<rect class="range" x="${left}%" y="0" width="${centre(after, places) - left}%" height="100%"></rect>`;
  }

  private renderDots(replayed: boolean) {
    const { found } = this;
    const dots = probeDots(found);
    const seen = replayed && new Set(this.probes.slice(0, this.shown));
    return [
      ...valueMarks(dots).map(
        ({ value, y }) =>
          svg`<line x1="0" x2="100%" y1="${y}%" y2="${y}%"></line><text class="mark" x="0" y="${y}%" dy="-3">${valueText(value, found.unit)}</text>`,
      ),
      ...dots
        .filter(({ probe }) => !seen || seen.has(probe))
        .map((dot) => renderDot(dot, found.unit, replayed && this.at !== undefined && dot.probe === this.newest)),
    ];
  }
}

const PURPOSES = { end: "an end of the range", search: "search", verify: "verification" } as const;

function renderDot({ device, probe, valueless, x, y }: ProbeDot, unit: string, newest: boolean) {
  const title = `probe ${probe.number}, ${probe.device}: ${probeText(probe, unit)}`;
  return valueless
    ? svg`<text class="skipped" x="${x}%" y="${y}%">×<title>${title}</title></text>`
    : svg`<circle class="device-${device % 8}" cx="${x}%" cy="${y}%" r=${newest ? 7 : 4}><title>${title}</title></circle>`;
}

/** The commits below the plot: each of a few, else the two ends. */
function renderPlaces({ candidates }: BisectionDetail) {
  const few = candidates.length <= MOST_PLACES;
  const shown = candidates.filter((_, place) => few || place === 0 || place === candidates.length - 1);
  return html`<div class="places ${few ? "each" : ""}" aria-hidden="true">
    ${shown.map(({ commit }) => html`<span title=${commit.subject}>${commit.short}</span>`)}
  </div>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-probe-plot": ProbePlot;
  }
}
