/** The params of the matching traces, and how many traces have each value. */

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";
import type { Facets } from "../../api/client";
import { loadingNotice } from "../../templates/notice";
import { ellipsizedName } from "../../templates/trace-name";
import { grouped } from "../../text/numbers";
import { chooseValue, patternOf, selectedValues, withPattern } from "../../text/query";
import { commonPrefixLength } from "../../text/trace-names";
import type { ExploreContext } from "./context";

type Facet = Facets["facets"][number];
type FacetValue = Facet["values"][number];

/** Values of a facet that is not expanded. */
const FIRST_VALUES = 8;

/** What the query asks of a value. */
type Choice = "selected" | "excluded" | "";

interface FacetStyle {
  /** Whether all values are in view, with fields for regular expressions: so they are in the dialog. */
  whole: boolean;
}

export function renderFacets(context: ExploreContext, style: FacetStyle = { whole: false }) {
  if (context.data.facets) return context.data.facets.facets.map((facet) => renderFacet(context, facet, style));
  return context.data.queryError || context.data.error ? nothing : loadingNotice("Loading the params");
}

function renderFacet(context: ExploreContext, facet: Facet, { whole }: FacetStyle) {
  const { query } = context.route;
  const selected = selectedValues(query, facet.name);
  const excluded = selectedValues(query, facet.name, "!=");
  const choiceOf = (value: string): Choice =>
    excluded.includes(value) ? "excluded" : selected.includes(value) ? "selected" : "";
  const values = withChosen(facet.values, [...new Set([...selected, ...excluded])]);
  const expanded = whole || context.expandedFacets.has(facet.name);
  const isShown = ({ value }: FacetValue, index: number): boolean => index < FIRST_VALUES || choiceOf(value) !== "";
  const shown = expanded ? values : values.filter(isShown);
  const prefix = commonPrefixLength(values.map(({ value }) => value));
  const unlisted = facet.distinct - facet.values.length;
  return html`<fieldset class="facet">
    <legend>
      ${facet.name}${facet.distinct > 1 ? html` <span class="faint">${grouped(facet.distinct)}</span>` : nothing}
    </legend>
    ${whole ? renderPatterns(context, facet) : nothing}
    ${expanded && values.length > FIRST_VALUES ? renderSearch(facet) : nothing}
    <div class="facet-values">
      ${shown.map((value) => renderValue(context, facet, value, { prefix, choice: choiceOf(value.value) }))}
    </div>
    ${
      values.length > shown.length
        ? html`<button class="link" @click=${() => context.expandFacet(facet.name)}>
            ${values.length - shown.length} more
          </button>`
        : nothing
    }
    ${expanded && unlisted > 0 ? html`<span class="faint">A query finds the other ${grouped(unlisted)}.</span>` : nothing}
  </fieldset>`;
}

/** The values of a facet, with those that the query names and no trace has: they must be there to be taken back. */
function withChosen(values: readonly FacetValue[], chosen: readonly string[]): FacetValue[] {
  const listed = new Set(values.map(({ value }) => value));
  return [...chosen.filter((value) => !listed.has(value)).map((value) => ({ value, count: 0 })), ...values];
}

function renderValue(
  context: ExploreContext,
  facet: Facet,
  { value, count }: FacetValue,
  { prefix, choice }: { prefix: number; choice: Choice },
) {
  const choose = (operator: "=" | "!="): void =>
    context.updateRoute({ query: chooseValue(context.route.query, facet.name, value, operator) });
  const name = prefix > 0 ? html`…${ellipsizedName(value.slice(prefix))}` : ellipsizedName(value);
  const title = choice === "excluded" ? `Do not leave out ${facet.name}=${value}` : `Leave out ${facet.name}=${value}`;
  return html`<div class="choice ${choice}" data-value=${value.toLowerCase()}>
    <label
      ><input type="checkbox" .checked=${live(choice === "selected")} @change=${() => choose("=")} /><span
        class="choice-text"
        title=${value}
        >${name}</span
      ><span class="figure faint">${grouped(count)}</span></label
    ><button
      class="icon tiny"
      aria-label="Leave out ${value}"
      aria-pressed=${choice === "excluded" ? "true" : "false"}
      title=${title}
      @click=${() => choose("!=")}
    >
      ≠
    </button>
  </div>`;
}

/** The fields for what the values of a param match, and what they do not. */
function renderPatterns(context: ExploreContext, { name }: Facet) {
  const { query } = context.route;
  const field = (operator: "~" | "!~", text: string) => {
    const change = (event: Event): void => {
      const pattern = (event.target as HTMLInputElement).value;
      context.updateRoute({ query: withPattern(context.route.query, name, operator, pattern) }, "replace");
    };
    return html`<input
      class="facet-filter"
      type="text"
      placeholder=${`${text} …`}
      aria-label="${name} ${text} the regular expression"
      title="A regular expression (RE2), which may match anywhere in the value"
      autocomplete="off"
      spellcheck="false"
      maxlength="1000"
      .value=${patternOf(query, name, operator)}
      @change=${change}
    />`;
  };
  return html`<div class="facet-patterns">${field("~", "matches")}${field("!~", "does not match")}</div>`;
}

function renderSearch({ name }: Facet) {
  return html`<input
    class="facet-filter"
    type="search"
    placeholder="Find a value"
    aria-label="Find a value of ${name}"
    autocomplete="off"
    @input=${filterValues}
  />`;
}

/** Hide the values that do not contain the typed text. */
function filterValues(event: InputEvent): void {
  const input = event.target as HTMLInputElement;
  const text = input.value.toLowerCase();
  for (const choice of input.closest(".facet")?.querySelectorAll<HTMLElement>(".choice") ?? []) {
    choice.hidden = !(choice.dataset.value ?? "").includes(text);
  }
}
