/** Watch the triage log, so that a page shows what other people decide. */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import { api } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";

const POLL_MS = 5_000;

/** Asks for the newest entry of the log while the page is visible, and calls `onEntry` when there is a further one. */
export class LogWatch implements ReactiveController {
  private newest: number | undefined;
  private timer = 0;
  private abort = new AbortController();

  constructor(
    host: ReactiveControllerHost,
    private readonly onEntry: () => void,
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    this.abort = new AbortController();
    this.timer = window.setInterval(() => void this.look(), POLL_MS);
    void this.look();
  }

  hostDisconnected(): void {
    window.clearInterval(this.timer);
    this.abort.abort();
  }

  /** Take the log as it is now as known: this page has just shown its own decision, or loads everything. */
  skip(): void {
    this.newest = undefined;
    void this.look();
  }

  private async look(): Promise<void> {
    if (PUBLISHED !== undefined || document.visibilityState !== "visible") return;
    try {
      const before = this.newest;
      const entry = await api.lastEntry(this.abort.signal);
      this.newest = entry;
      if (before !== undefined && entry > before) this.onEntry();
    } catch {
      // The page itself says that the server does not answer, and asks again when it is back.
    }
  }
}
