/** The state of a bisection in lists. */

import { html } from "lit";
import type { BisectionStanding } from "../api/client";
import { standingTitle, standingWord } from "../text/bisections";

/** How the search for the commit of a change stands; leads to its panel at `url`. */
export function bisectionTag(standing: BisectionStanding, url: string) {
  return html`<a class="tag bisection-tag" href=${url} title=${standingTitle(standing)}>${standingWord(standing)}</a>`;
}
