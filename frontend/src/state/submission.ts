/** What a person asks the server to do: whether it is under way, and why it failed. */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import { toApiError, type ApiError } from "../api/client";

export class Submission implements ReactiveController {
  /** Whether the server has not answered yet. */
  sending = false;
  /** Why the last one failed; undefined while the next one is sent. */
  error: ApiError | undefined;

  constructor(private readonly host: ReactiveControllerHost) {
    host.addController(this);
  }

  hostConnected(): void {
    // Nothing is sent by itself.
  }

  /** Show an error, or none. */
  show(error: ApiError | undefined): void {
    this.error = error;
    this.host.requestUpdate();
  }

  /** Send a request and what follows from its answer; a failure is shown. */
  async send(act: () => Promise<void>): Promise<void> {
    this.sending = true;
    this.show(undefined);
    try {
      await act();
    } catch (thrown) {
      this.error = toApiError(thrown);
    } finally {
      this.sending = false;
      this.host.requestUpdate();
    }
  }
}
