/** Canaries that moved and benchmarks that stopped: what somebody should look at, and no finding says. */

import { html, nothing } from "lit";
import { api, type ApiError, type Notice } from "../api/client";
import { whenBack } from "../api/connection";
import { triage, writeAddress } from "../routes/routes";
import { Latest } from "../state/latest";
import { count } from "../text/findings";
import { Part } from "./page-element";
import { failed, longName, waiting } from "../templates/finding";

const HASH = 9;
const KINDS: Record<Notice["kind"], string> = { canary: "canary", silence: "stopped" };

export class NoticesPart extends Part {
  static override properties = { notices: { state: true }, error: { state: true }, opened: { state: true } };
  declare notices: readonly Notice[] | undefined;
  declare error: ApiError | undefined;
  declare opened: boolean;

  private readonly reading = new Latest();
  private ending: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.ending = whenBack(() => this.error && void this.load());
  }

  override disconnectedCallback(): void {
    this.ending?.();
    this.reading.stop();
    super.disconnectedCallback();
  }

  constructor() {
    super();
    this.opened = false;
  }

  /** The server reads all values for it, so it is asked only when somebody wants to know. */
  private load(): Promise<void> {
    this.error = undefined;
    return this.reading.run(
      async (signal, present) => {
        this.notices = present(await api.notices(signal));
      },
      (error) => (this.error = error),
    );
  }

  private onToggle(event: Event): void {
    this.opened = (event.target as HTMLDetailsElement).open;
    if (this.opened) void this.load();
  }

  override render() {
    return html`<details class="notices" @toggle=${(event: Event) => this.onToggle(event)}>
      <summary>Canaries that moved, benchmarks that stopped</summary>
      ${this.opened ? this.renderOpened() : nothing}
    </details>`;
  }

  private renderOpened() {
    if (this.error) return failed(this.error, () => void this.load());
    if (!this.notices) return waiting("Reading all values");
    if (this.notices.length === 0) return html`<p class="faint">No canary moved, and no benchmark stopped.</p>`;
    return html`<ul>
      ${this.notices.map(
        (own) =>
          html`<li>
            <span class="tag">${KINDS[own.kind]}</span> <span>${longName(own.text)}</span>
            <span class="second">
              <span>${own.repository}</span>
              ${own.commit ? html`<a href=${writeAddress({ ...triage, repository: own.repository, filter: own.commit })}>findings at ${own.commit.slice(0, HASH)}</a>` : nothing}
              ${own.regressions.length > 0 ? html`<span>puts ${count(own.regressions.length, "regression")} in doubt</span>` : nothing}
            </span>
          </li>`,
      )}
    </ul>`;
  }
}

customElements.define("kp-notices", NoticesPart);
