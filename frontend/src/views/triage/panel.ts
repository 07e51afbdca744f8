/** The panel beside the list: the picture of the current row, its suspects, and why it is a change. */

import { html, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";
import { api, plotUrl, type Finding, type Suspects } from "../../api/client";
import "../../components/bisection-panel";
import type { BisectionPanel } from "../../components/bisection-panel";
import { PageElement } from "../../page-element";
import { changeRoute } from "../../routes/change";
import { routeUrl } from "../../routes/routes";
import { Resource } from "../../state/resource";
import { shownTheme } from "../../state/theme";
import { memberOf, type Row } from "../../state/triage/rows";
import { commitHash, date } from "../../templates/commit";
import { causeNote, changeHeadline, conditionTag, pointSize } from "../../templates/finding";
import { longName } from "../../templates/trace-name";
import { causeOf, whyText } from "../../text/findings";
import { traceName } from "../../text/trace-names";
import { renderSuspects, type SuspectList } from "../trace/suspects";
import { findingRoute } from "./context";
import { isSearchable } from "./table-rows";

/** How long the keyboard rests on a row before its suspects and its search are requested. */
const REST_MS = 250;
const MOST_SUSPECTS = 5;
const PLOT_HEIGHT = 200;

@customElement("kp-change-panel")
export class PanelElement extends PageElement {
  @property({ attribute: false }) row!: Row;
  @property({ attribute: false }) mayDecide = false;
  /** The change that the keyboard rests on. */
  @state() private restsOn = "";
  @query("kp-bisection-panel") private readonly bisection!: BisectionPanel | null;
  private timer = 0;

  private readonly suspects = new Resource<readonly [string], Suspects>(this, {
    args: () => (this.restsOn && this.row.change.suspect_range.commits > 1 ? [this.restsOn] : undefined),
    load: ([change], signal) => api.suspects(change, signal),
  });

  private readonly redraw = (): void => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-theme", this.redraw);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.redraw);
    window.clearTimeout(this.timer);
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const { id } = this.row.change;
    if (!changed.has("row") || this.restsOn === id) return;
    window.clearTimeout(this.timer);
    this.restsOn = "";
    this.timer = window.setTimeout(() => (this.restsOn = id), REST_MS);
  }

  /** Lead to the search for the commit of the current change. */
  async search(): Promise<void> {
    await this.updateComplete;
    window.clearTimeout(this.timer);
    this.restsOn = this.row.change.id;
    await this.updateComplete;
    await this.bisection?.offer();
  }

  override render() {
    const { row } = this;
    const { change } = row;
    const finding = memberOf(row);
    const commit = causeOf(change);
    return html`<aside aria-label="The current change" class="side">
      <h2>
        <a href=${routeUrl(changeRoute(change.id))}
          >${row.kind === "finding" ? pointSize(row.finding) : changeHeadline(change)}</a
        >
      </h2>
      <p class="side-commit">
        ${commitHash(commit, change.repository)} ${longName(commit.subject)} ${date(commit.time)}
        ${causeNote(change.statement, change.suspect_range.commits)}
        ${conditionTag(change.statement, change.repository)}
      </p>
      ${finding ? renderPicture(finding) : nothing}
      ${finding ? renderSuspects(finding, change.statement ?? undefined, this.suspectList) : nothing}
      ${
        this.restsOn === change.id && (change.bisection || isSearchable(change))
          ? keyed(
              change.id,
              html`<kp-bisection-panel .change=${change.id} .mayDecide=${this.mayDecide}></kp-bisection-panel>`,
            )
          : nothing
      }
    </aside>`;
  }

  private get suspectList(): SuspectList | undefined {
    const { value } = this.suspects;
    if (!value?.ranked || this.suspects.answeredArgs?.[0] !== this.row.change.id) return undefined;
    const { suspects, none, machine, note } = value;
    return {
      suspects: suspects.slice(0, MOST_SUSPECTS).map((suspect) => ({ ...suspect, failed: undefined })),
      count: suspects.length,
      none: none ?? undefined,
      note: [machine, note].filter(Boolean).join(" "),
      bisection: undefined,
    };
  }
}

function renderPicture(finding: Finding) {
  const { trace, suspect_range: range } = finding;
  const { name } = traceName(trace.params);
  return html`<a href=${routeUrl(findingRoute(finding))} title="Open the trace">
      <img
        src=${plotUrl(trace.id, range.line, finding.commit.hash, shownTheme(), PLOT_HEIGHT)}
        width="420"
        height=${PLOT_HEIGHT}
        alt="Values of ${name} around the change"
      />
      <span class="sr-only">${longName(name)}</span>
    </a>
    <p>${whyText(finding)}</p>
    <p>
      <a href=${routeUrl(findingRoute(finding, { why: true }))} title="All candidates, and the checks that decided (w)"
        >Why in numbers</a
      >
    </p>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-change-panel": PanelElement;
  }
}
