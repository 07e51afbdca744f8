/** What is known of the step of a cluster, and the buttons that decide about it. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Clustering, type CommitReport, type Change, type Status } from "../../api/client";
import "../../components/missed-button";
import { PageElement } from "../../page-element";
import { Resource } from "../../state/resource";
import { decide } from "../../state/triage/decisions";
import { selectChange } from "../../state/triage/selection";
import { statusLabel } from "../../templates/finding";
import { countText } from "../../text/numbers";

@customElement("kp-cluster-decision")
export class ClusterDecision extends PageElement {
  @property() repository = "";
  @property({ attribute: false }) cluster: Clustering["clusters"][number] | undefined;
  @property({ type: Boolean }) mayDecide = false;

  private readonly report = new Resource<readonly [string, string], CommitReport>(this, {
    args: () => (this.cluster?.commit ? [this.repository, this.cluster.commit.hash] : undefined),
    load: ([repository, hash], signal) => api.commitReport(repository, hash, signal),
  });
  private readonly reload = (): void => this.report.reload();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.reload);
    window.addEventListener("kp-missed", this.reload);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("kp-decided", this.reload);
    window.removeEventListener("kp-missed", this.reload);
  }

  override render() {
    const { cluster, mayDecide } = this;
    const changes = this.report.value?.changes;
    if (!cluster?.commit || !changes) return nothing;
    if (changes.length > 0) return changes.map((change) => this.renderKnown(change));
    const [nearest] = cluster.ids;
    return html`<div class="second">No alert found it.</div>
      ${
        mayDecide && nearest !== undefined
          ? html`<kp-missed-button
              .trace=${nearest}
              .commit=${cluster.commit.hash}
              .position=${cluster.commit.position ?? 0}
            ></kp-missed-button>`
          : nothing
      }`;
  }

  private renderKnown(change: Change) {
    const counts = Object.entries(change.statuses) as [Status, number][];
    const button = (label: string, status: Status) =>
      html`<button class="button small" @click=${() => void decide({ findings: selectChange(change), status })}>
        ${label}
      </button>`;
    return html`<div>
      ${change.id}: ${countText(change.traces, "change point")}
      ${counts.filter(([, count]) => count > 0).map(([status]) => statusLabel(status))}
      ${
        this.mayDecide
          ? html`<div class="actions always">
              ${
                change.statuses.new
                  ? html`${button("Acknowledge", "acknowledged")}${button("Hide", "hidden")}`
                  : button("Put back", "new")
              }
            </div>`
          : nothing
      }
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-cluster-decision": ClusterDecision;
  }
}
