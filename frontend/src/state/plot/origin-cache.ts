/** What values of traces were made of, requested once the pointer rests on one. */

import { api } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import { originText } from "../../text/samples";

/** A pointer that passes over values requests nothing, in milliseconds. */
const REST_MS = 200;

export class OriginCache {
  private readonly texts = new Map<string, string>();
  private awaited = "";
  private timer = 0;

  /** "median of 3 samples" for the value of a trace at a commit; "" until that is known, which runs `onKnown`. */
  textOf(trace: number, commit: string, onKnown: () => void): string {
    const key = `${trace} ${commit}`;
    const known = this.texts.get(key);
    if (known !== undefined || this.awaited === key || PUBLISHED !== undefined) return known ?? "";
    this.awaited = key;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      void this.load(trace, commit).then((text) => {
        this.texts.set(key, text);
        if (text) onKnown();
      });
    }, REST_MS);
    return "";
  }

  /** A failure leaves the words out: the value stands without them as well. */
  private async load(trace: number, commit: string): Promise<string> {
    try {
      const [runs, withheld] = await Promise.all([api.runs(trace, commit), api.quarantined(trace, "")]);
      const quarantined = new Set(withheld.map(({ quarantine }) => quarantine.run));
      return originText(runs.filter(({ identity }) => !quarantined.has(identity)));
    } catch {
      return "";
    }
  }
}
