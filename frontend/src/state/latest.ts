/** Let only the newest of several questions have an effect, whatever the order in which answers come. */

import { abandoned, shown, type ApiError } from "../api/client";

/** Hands an answer on while its question is the newest, and ends the work otherwise. */
export type Present = <T>(answer: T) => T;

export class Latest {
  private controller: AbortController | undefined;

  /** Ask, and give up what was asked before. `work` passes each answer through `present` before it shows anything of it. */
  async run(
    work: (signal: AbortSignal, present: Present) => Promise<void>,
    failed: (error: ApiError) => void,
  ): Promise<void> {
    this.stop();
    const { signal } = (this.controller = new AbortController());
    const present: Present = (answer) => {
      signal.throwIfAborted();
      return answer;
    };
    try {
      await work(signal, present);
    } catch (thrown) {
      if (!signal.aborted && !abandoned(thrown)) failed(shown(thrown));
    }
  }

  /** Give up what was asked: its answer has no effect any more. */
  stop(): void {
    this.controller?.abort();
  }
}
