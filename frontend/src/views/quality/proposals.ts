/** Proposals to change alerts: accept or reject them, and take such decisions back. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type AlertQuality, type ProposalDecision } from "../../api/client";
import { PageElement } from "../../page-element";
import { Submission } from "../../state/submission";
import { showToast } from "../../state/toasts";
import { date } from "../../templates/commit";
import { errorNotice } from "../../templates/notice";

/** Sends `kp-proposal-decided` after each decision: the alerts may have changed. */
@customElement("kp-proposals")
export class Proposals extends PageElement {
  @property({ attribute: false }) quality!: Pick<AlertQuality, "proposals" | "decisions">;
  /** The period that the proposals were made for. */
  @property({ attribute: false }) since: string | undefined;
  @property({ attribute: false }) mayDecide = false;
  private readonly submission = new Submission(this);

  override render() {
    const { proposals, decisions } = this.quality;
    const { error } = this.submission;
    if (proposals.length === 0 && decisions.length === 0) return nothing;
    return html`<section aria-labelledby="quality-proposals">
      <h2 id="quality-proposals">Proposals</h2>
      ${error ? errorNotice(error, () => this.submission.show(undefined)) : nothing}
      ${
        proposals.length > 0
          ? html`<ul class="plain proposals">
                ${proposals.map((each) => this.renderProposal(each))}
              </ul>
              <p class="faint">
                <code>knick quality proposals --backtest</code> replays the past with each. Accepting changes the alert;
                its findings follow at the next run.
              </p>`
          : html`<p class="faint">The decisions so far propose no further change.</p>`
      }
      ${decisions.length > 0 ? this.renderDecisions(decisions) : nothing}
    </section>`;
  }

  private renderProposal({ name, change, reason }: AlertQuality["proposals"][number]) {
    return html`<li>
      <b><bdi>${name}</bdi></b
      >: ${reason}. <code>${change}</code>
      ${this.mayDecide ? this.renderButtons(name) : nothing}
    </li>`;
  }

  private renderButtons(name: string) {
    const button = (label: string, accept: boolean) =>
      html`<button
        class="button small"
        aria-label="${label} ${name}"
        ?disabled=${this.submission.sending}
        @click=${() => void this.decide(name, accept)}
      >
        ${label}
      </button>`;
    return html`<span class="actions always">${button("Accept", true)} ${button("Reject", false)}</span>`;
  }

  private renderDecisions(decisions: readonly ProposalDecision[]) {
    return html`<details>
      <summary>Decided: ${decisions.length}</summary>
      <ul class="plain proposals">
        ${decisions.map(
          (each) =>
            html`<li>
              <b><bdi>${each.name}</bdi></b> ${each.accepted ? "accepted" : "rejected"} by
              <bdi>${each.who}</bdi> ${date(each.time)} <code>${each.change}</code>
              ${
                this.mayDecide
                  ? html`<button
                      class="button small quiet"
                      aria-label="Take back ${each.name}"
                      ?disabled=${this.submission.sending}
                      @click=${() => void this.takeBack(each)}
                    >
                      Take back
                    </button>`
                  : nothing
              }
            </li>`,
        )}
      </ul>
    </details>`;
  }

  private decide(name: string, accept: boolean): Promise<void> {
    return this.send(async () => {
      const decision = await api.decideProposal({ name, accept, since: this.since ?? null });
      const undo = { label: "Undo", run: () => void this.takeBack(decision) };
      showToast({ text: `${accept ? "Accepted" : "Rejected"} ${name}.`, action: undo });
    });
  }

  private takeBack({ id, name }: ProposalDecision): Promise<void> {
    return this.send(async () => {
      await api.undoProposal(id);
      showToast({ text: `Undid the decision on ${name}.` });
    });
  }

  private async send(act: () => Promise<void>): Promise<void> {
    await this.submission.send(async () => {
      await act();
      this.dispatchEvent(new CustomEvent("kp-proposal-decided", { bubbles: true }));
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-proposals": Proposals;
  }
}
