/** The patterns of a trace, as the plot draws them. */

import { html, nothing, svg, type TemplateResult } from "lit";
import type { Patterns } from "../../api/client";
import { NO_PATTERNS, type ChartPatterns } from "../../charts/chart-data";
import { MODE_KINDS } from "../../charts/patterns";
import { grouped } from "../../text/numbers";
import { valueText } from "../../text/units";

type Flipping = Patterns["flipping"][number];

/** The drifts and modes of a trace for the plot, with a text at each level. */
export function chartPatterns(patterns: Patterns | undefined, unit: string): ChartPatterns {
  if (!patterns) return NO_PATTERNS;
  return {
    drifts: patterns.drifts,
    modes: patterns.flipping.map((stretch) => ({
      first: stretch.first,
      last: stretch.last,
      levels: stretch.levels,
      texts: stretch.levels.map((_, mode) => modeText(stretch, mode, unit)),
      cause: causeText(stretch),
    })),
  };
}

/** "10.7 ms, 38 % of the time; runner-2 (96 %)": a level, its share, and what its values go with. */
export function modeText({ levels, shares, causes }: Flipping, mode: number, unit: string): string {
  const share = `${Math.round((shares[mode] ?? 0) * 100)} % of the time`;
  const texts = causes
    .filter(({ level }) => level === mode)
    .map(({ text, share: hits }) => `${text || "none"} (${Math.round(hits * 100)} %)`);
  return [`${valueText(levels[mode] ?? 0, unit)}, ${share}`, ...(texts.length > 0 ? [texts.join(", ")] : [])].join(
    "; ",
  );
}

/** "The fact runner explains the level of 96 % of these values."; "" where no fact does. */
export function causeText({ fact, explained }: Flipping): string {
  return fact ? `The fact ${fact} explains the level of ${Math.round((explained ?? 0) * 100)} % of these values.` : "";
}

/** The shapes of modes; the plot draws the same ones. */
const SHAPES = [
  svg`<circle cx="6" cy="6" r="4" />`,
  svg`<rect x="2" y="2" width="8" height="8" />`,
  svg`<path d="M6 1.5 10.5 10h-9Z" />`,
  svg`<path class="hollow" d="m2 2 8 8m0-8-8 8" />`,
];

/** The levels between which a trace flips, with their shapes, shares and what explains them; nothing where it does not. */
export function renderModes({ modes }: ChartPatterns): TemplateResult | typeof nothing {
  if (modes.length === 0) return nothing;
  return html`<div class="modes">
    ${modes.map(
      ({ first, last, texts, cause }) =>
        html`<p>
          Flips from commit ${grouped(first + 1)} to ${grouped(last + 1)}, which is not a change:
          ${texts.map(
            (text, mode) =>
              html`<span class="mode mode-${(mode % MODE_KINDS) + 1}"
                ><svg viewBox="0 0 12 12" aria-hidden="true">${SHAPES[mode % MODE_KINDS]}</svg>${text}</span
              > `,
          )}
          ${cause ? html`<span class="faint">${cause}</span>` : nothing}
        </p>`,
    )}
  </div>`;
}
