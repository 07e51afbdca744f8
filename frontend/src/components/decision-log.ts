/** The decisions about a finding, with who made them and when, and a button that takes back the last one. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, type Decision } from "../api/client";
import { Resource } from "../state/resource";
import { undoFinding } from "../state/triage/decisions";
import { statusLabel, ticketLink } from "../templates/finding";
import { errorNotice, loadingNotice } from "../templates/notice";
import { timestampText } from "../text/dates";
import { PageElement } from "../page-element";

const ACTION_TEXTS: Record<Decision["action"], string> = {
  decide: "",
  split: "split off,",
  merge: "merged,",
  undo: "undone, back to",
};

@customElement("kp-decision-log")
export class DecisionLog extends PageElement {
  @property() finding = "";
  @property({ attribute: false }) mayUndo = false;
  @state() private opened = false;

  private readonly decisions = new Resource(this, {
    args: () => (this.opened ? ([this.finding] as const) : undefined),
    load: ([finding], signal) => api.decisions(finding, signal),
  });

  private readonly onDecided = (): void => {
    if (this.opened) this.decisions.reload();
    else this.decisions.clear();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.onDecided);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.onDecided);
    super.disconnectedCallback();
  }

  override render() {
    return html`<details class="log" @toggle=${(event: Event) => this.onToggle(event)}>
      <summary>Decisions</summary>
      ${this.opened ? this.renderDecisions() : nothing}
    </details>`;
  }

  private onToggle(event: Event): void {
    this.opened = (event.target as HTMLDetailsElement).open;
  }

  private renderDecisions() {
    const { value: decisions, error } = this.decisions;
    if (error) return errorNotice(error, () => this.decisions.reload());
    if (!decisions) return loadingNotice("Loading the decisions");
    if (decisions.length === 0) return html`<p class="faint">No decisions yet.</p>`;
    return html`<ol>
        ${[...decisions].reverse().map(renderDecision)}
      </ol>
      ${
        this.mayUndo
          ? html`<button class="link" @click=${() => void undoFinding(this.finding)}>Undo the last</button>`
          : nothing
      }`;
  }
}

function renderDecision(decision: Decision) {
  return html`<li>
    ${ACTION_TEXTS[decision.action]} ${statusLabel(decision.status)}
    <span class="second"
      ><span>${decision.who}</span><time datetime=${decision.time}>${timestampText(decision.time)}</time></span
    >
    ${decision.ticket ? html`<div class="second">${ticketLink(decision.ticket)}</div>` : nothing}
    ${decision.note ? html`<div class="second wide-note">${decision.note}</div>` : nothing}
  </li>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-decision-log": DecisionLog;
  }
}
