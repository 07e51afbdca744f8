/** The state of a bisection in lists. */

import { html } from "lit";
import type { BisectionStanding } from "../api/client";
import { standingTitle, standingWord } from "../text/bisections";

/** How the search for the commit of a change stands, by default in its own words; leads to its panel at `url`. */
export function bisectionTag(standing: BisectionStanding, url: string, text = standingWord(standing)) {
  return html`<a class="tag bisection-tag" href=${url} title=${standingTitle(standing)}>${text}</a>`;
}
