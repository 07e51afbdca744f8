/** The params of the matching traces, and how many traces have each value. */

import { html, nothing } from "lit";
import type { Facets } from "../../api/client";
import { loadingNotice } from "../../templates/notice";
import { ellipsizedName } from "../../templates/trace-name";
import { grouped } from "../../text/numbers";
import { selectedValues, toggleValue } from "../../text/query";
import { commonPrefixLength } from "../../text/trace-names";
import type { ExploreContext } from "./context";

type Facet = Facets["facets"][number];
type FacetValue = Facet["values"][number];

/** Values of a facet that is not expanded. */
const FIRST_VALUES = 8;

export function renderFacets(context: ExploreContext) {
  if (context.data.facets) return context.data.facets.facets.map((facet) => renderFacet(context, facet));
  return context.data.queryError || context.data.error ? nothing : loadingNotice("Loading the params");
}

function renderFacet(context: ExploreContext, facet: Facet) {
  const selected = selectedValues(context.route.query, facet.name);
  const values = withSelected(facet.values, selected);
  const expanded = context.expandedFacets.has(facet.name);
  const isShown = ({ value }: FacetValue, index: number): boolean => index < FIRST_VALUES || selected.includes(value);
  const shown = expanded ? values : values.filter(isShown);
  const prefix = commonPrefixLength(values.map(({ value }) => value));
  const unlisted = facet.distinct - facet.values.length;
  return html`<fieldset class="facet">
    <legend>
      ${facet.name}${facet.distinct > 1 ? html` <span class="faint">${grouped(facet.distinct)}</span>` : nothing}
    </legend>
    ${expanded && values.length > FIRST_VALUES ? renderSearch(facet) : nothing}
    ${shown.map((value) => renderValue(context, facet, value, { prefix, selected: selected.includes(value.value) }))}
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

/** The values of a facet, with those that the query selects and no trace has: they must be there to be deselected. */
function withSelected(values: readonly FacetValue[], selected: readonly string[]): FacetValue[] {
  const listed = new Set(values.map(({ value }) => value));
  return [...selected.filter((value) => !listed.has(value)).map((value) => ({ value, count: 0 })), ...values];
}

function renderValue(
  context: ExploreContext,
  facet: Facet,
  { value, count }: FacetValue,
  { prefix, selected }: { prefix: number; selected: boolean },
) {
  const toggle = (): void => context.updateRoute({ query: toggleValue(context.route.query, facet.name, value) });
  const name = prefix > 0 ? html`…${ellipsizedName(value.slice(prefix))}` : ellipsizedName(value);
  return html`<label class="choice" data-value=${value.toLowerCase()}
    ><input type="checkbox" .checked=${selected} @change=${toggle} /><span class="choice-text" title=${value}
      >${name}</span
    ><span class="figure faint">${grouped(count)}</span>
  </label>`;
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
  for (const choice of input.parentElement?.querySelectorAll<HTMLElement>(".choice") ?? []) {
    choice.hidden = !(choice.dataset.value ?? "").includes(text);
  }
}
