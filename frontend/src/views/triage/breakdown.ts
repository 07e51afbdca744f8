/** What the many traces of a change have in common: its leading trace, and its params beside those of all traces. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, plotUrl, type Breakdown, type Change } from "../../api/client";
import { PageElement } from "../../page-element";
import { Resource } from "../../state/resource";
import { shownTheme } from "../../state/theme";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { countText, grouped, percentText } from "../../text/numbers";
import { traceName } from "../../text/trace-names";
import type { TriageContext } from "./context";

/** Changes with fewer traces show their rows at once. */
export const MANY_TRACES = 10;

const MOST_PARAMS = 6;
const MOST_VALUES = 4;

type Param = Breakdown["params"][number];
type Value = Param["values"][number];

@customElement("kp-breakdown")
export class BreakdownElement extends PageElement {
  @property({ attribute: false }) change!: Change;
  @property({ attribute: false }) context!: TriageContext;

  private readonly breakdown = new Resource(this, {
    args: () => [this.change.id, this.change.traces] as const,
    load: ([id], signal) => api.breakdown(id, signal),
  });
  private readonly onTheme = (): void => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-theme", this.onTheme);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.onTheme);
    super.disconnectedCallback();
  }

  override render() {
    const { value, error } = this.breakdown;
    if (error) return errorNotice(error, () => this.breakdown.reload());
    if (!value) return loadingNotice("Comparing the params of its traces");
    const uneven = value.params.filter((param) => !param.even).slice(0, MOST_PARAMS);
    const even = value.params.filter((param) => param.even).map(({ name }) => name);
    return html`<div class="breakdown">
      ${this.renderPlot()}
      <div>
        <p class="second">
          ${countText(value.members, "trace")} of
          ${grouped(value.traces)}${uneven.length > 0 ? ", by the params in which they differ from the others" : ""}
        </p>
        <dl>
          ${uneven.map((param) => this.renderParam(param, value))}
          ${
            even.length > 0
              ? html`<dt>${even.join(", ")}</dt>
                  <dd class="faint">as in all traces</dd>`
              : nothing
          }
        </dl>
      </div>
    </div>`;
  }

  private renderPlot() {
    const { members, lead, commit } = this.change;
    const finding = members.find(({ id }) => id === lead) ?? members[0];
    if (!finding) return nothing;
    const alt = `The leading trace, ${traceName(finding.trace.params).name}, around the change`;
    return html`<img
      src=${plotUrl(finding.trace.id, finding.suspect_range.line, commit.hash, shownTheme())}
      width="420"
      height="160"
      alt=${alt}
    />`;
  }

  private renderParam(param: Param, { members, traces }: Breakdown) {
    const here = param.values.filter((value) => value.members > 0);
    const shown = here.slice(0, MOST_VALUES);
    // The answer has the most common values: where members have all of those, they may have more.
    const known = here.length < param.values.length || param.distinct === param.values.length;
    const more = (known ? here.length : param.distinct) - shown.length;
    return html`<dt>${param.name}</dt>
      <dd>
        ${shown.map((value) => {
          const share = `${percentText(value.members / members)}, ${percentText(value.traces / traces)} of all traces`;
          const title = `${grouped(value.members)} of the ${grouped(value.traces)} traces with it are here: ${share}`;
          return html`<span title=${title}
            >${this.renderValue(param.name, value)} <b>${percentText(value.members / members)}</b></span
          > `;
        })}${more > 0 ? html`<span class="faint">${known ? "" : "up to "}${countText(more, "other value")}</span>` : nothing}
      </dd>`;
  }

  /** A value as a button that narrows the list to it, where the filter can say it. */
  private renderValue(name: string, { value }: Value) {
    if (value === "" || /\s/.test(name + value)) return value || "without";
    const { route, filterAfterTyping } = this.context;
    const word = `${name}=${value}`;
    const filter = [...route.filter.split(" ").filter((each) => each && each !== word), word].join(" ");
    return html`<button
      class="link"
      title="Only traces with ${word}"
      @click=${() => filterAfterTyping.call(this.context, filter)}
    >
      ${value}
    </button>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-breakdown": BreakdownElement;
  }
}
