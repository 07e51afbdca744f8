/** The params of the matching traces, with how many have each value. */

import { html, nothing } from "lit";
import type { Facets } from "../../api/client";
import { cutName, waiting } from "../../templates/finding";
import { grouped } from "../../text/numbers";
import { toggleValue, wanted } from "../../text/query";
import { commonBeginning } from "../../text/trace-names";
import type { Desk } from "./context";

const VALUES_SHOWN = 8;

export function renderFacets(desk: Desk) {
  if (!desk.facets) return desk.queryError || desk.error ? nothing : waiting("Reading the params");
  return desk.facets.facets.map((facet) => renderFacet(desk, facet));
}

function renderFacet(desk: Desk, facet: Facets["facets"][number]) {
  const { query } = desk.address;
  const chosen = wanted(query, facet.name);
  const listed = facet.values.map((own) => own.value);
  const values = [
    ...chosen.filter((own) => !listed.includes(own)).map((value) => ({ value, count: 0 })),
    ...facet.values,
  ];
  const all = desk.unfolded.has(facet.name);
  const cut = commonBeginning(values.map((own) => own.value));
  const shown = all ? values : values.filter((own, index) => index < VALUES_SHOWN || chosen.includes(own.value));
  return html`<fieldset class="facet">
    <legend>
      ${facet.name}${facet.distinct > 1 ? html` <span class="faint">${grouped(facet.distinct)}</span>` : nothing}
    </legend>
    ${
      all && values.length > VALUES_SHOWN
        ? html`<input
            class="facet-filter"
            type="search"
            placeholder="Find a value"
            aria-label="Find a value of ${facet.name}"
            autocomplete="off"
            @input=${narrow}
          />`
        : nothing
    }
    ${shown.map(
      (own) =>
        html`<label class="choice" data-value=${own.value.toLowerCase()}>
          <input
            type="checkbox"
            .checked=${chosen.includes(own.value)}
            @change=${() => desk.change({ query: toggleValue(query, facet.name, own.value) })}
          /><span class="choice-text" title=${own.value}
            >${cut > 0 ? html`…${cutName(own.value.slice(cut))}` : cutName(own.value)}</span
          ><span class="figure faint">${grouped(own.count)}</span>
        </label>`,
    )}
    ${values.length > shown.length ? html`<button class="link" @click=${() => desk.unfold(facet.name)}>${values.length - shown.length} more</button>` : nothing}
    ${all && facet.distinct > facet.values.length ? html`<span class="faint">The other ${grouped(facet.distinct - facet.values.length)} are found by a query.</span>` : nothing}
  </fieldset>`;
}

/** Show those values only that contain what was typed. */
function narrow(event: InputEvent): void {
  const input = event.target as HTMLInputElement;
  const text = input.value.toLowerCase();
  for (const choice of input.parentElement?.querySelectorAll<HTMLElement>(".choice") ?? []) {
    choice.hidden = !(choice.dataset.value ?? "").includes(text);
  }
}
