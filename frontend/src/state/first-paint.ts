/** What a page asks for after it has painted what people wait for. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

/** Wait until the browser has painted what the page has now; a hidden window paints nothing. */
export async function painted(): Promise<void> {
  if (document.hidden) return;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Whether an element has painted what it shows first: what else it asks the server for waits for that. */
export class FirstPaint implements ReactiveController {
  done = false;
  private isAwaited = false;

  constructor(
    private readonly host: ReactiveControllerHost,
    /** Whether the element has what it shows first, or has failed to get it. */
    private readonly isReady: () => boolean = () => true,
  ) {
    host.addController(this);
  }

  hostUpdated(): void {
    if (this.isAwaited || !this.isReady()) return;
    this.isAwaited = true;
    void painted().then(() => {
      this.done = true;
      this.host.requestUpdate();
    });
  }
}
