/** What was decided about a finding, by whom and when; the last of it can be taken back. */

import { html, nothing, type PropertyValues } from "lit";
import { api, type ApiError, type Decision } from "../api/client";
import { whenBack } from "../api/connection";
import { undoOne } from "../state/triage/decisions";
import { Latest } from "../state/latest";
import { moment } from "../text/units";
import { Part } from "./page-element";
import { failed, state, ticketLink, waiting } from "../templates/finding";

const DONE: Record<Decision["action"], string> = {
  decide: "",
  split: "set apart,",
  merge: "merged,",
  undo: "undone, back to",
};

export class LogPart extends Part {
  static override properties = {
    finding: { type: Number },
    opened: { state: true },
    entries: { state: true },
    error: { state: true },
  };
  declare finding: number;
  declare opened: boolean;
  declare entries: readonly Decision[] | undefined;
  declare error: ApiError | undefined;

  private readonly reading = new Latest();
  private ending: (() => void) | undefined;
  private readonly refresh = (): void => {
    if (this.opened) void this.load();
    else this.entries = undefined;
  };

  constructor() {
    super();
    this.opened = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.refresh);
    this.ending = whenBack(() => this.error && this.refresh());
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.refresh);
    this.ending?.();
    this.reading.stop();
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("finding")) this.refresh();
  }

  private load(): Promise<void> {
    const { finding } = this;
    this.error = undefined;
    return this.reading.run(
      async (signal, present) => {
        this.entries = present(await api.decisions(finding, signal));
      },
      (error) => (this.error = error),
    );
  }

  private onToggle(event: Event): void {
    this.opened = (event.target as HTMLDetailsElement).open;
    if (this.opened && !this.entries) void this.load();
  }

  override render() {
    return html`<details class="log" @toggle=${(event: Event) => this.onToggle(event)}>
      <summary>Decisions</summary>
      ${this.opened ? this.renderOpened() : nothing}
    </details>`;
  }

  private renderOpened() {
    if (this.error) return failed(this.error, () => void this.load());
    return this.entries ? this.renderEntries(this.entries) : waiting("Reading the log");
  }

  private renderEntries(entries: readonly Decision[]) {
    if (entries.length === 0) return html`<p class="faint">Nobody has decided anything yet.</p>`;
    return html`<ol>
        ${[...entries].reverse().map(
          (own) =>
            html`<li>
              ${DONE[own.action]} ${state(own.status)}
              <span class="second"><span>${own.who}</span><time datetime=${own.time}>${moment(own.time)}</time></span>
              ${own.ticket ? html`<div class="second">${ticketLink(own.ticket)}</div>` : nothing}
              ${own.note ? html`<div class="second wide-note">${own.note}</div>` : nothing}
            </li>`,
        )}
      </ol>
      <button class="link" @click=${() => void undoOne(this.finding)}>Undo the last</button>`;
  }
}

customElements.define("kp-log", LogPart);
