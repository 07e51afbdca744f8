/** Canaries that moved, benchmarks that stopped and directions that changed: events that need attention and are not findings. */

import { html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { api, type Notice } from "../api/client";
import { routeUrl } from "../routes/routes";
import { missingRoute } from "../routes/missing";
import { triageRoute } from "../routes/triage";
import { Resource } from "../state/resource";
import { HASH_DIGITS } from "../templates/commit";
import { errorNotice, loadingNotice } from "../templates/notice";
import { longName } from "../templates/trace-name";
import { countText } from "../text/numbers";
import { PageElement } from "../page-element";

const KINDS: Record<Notice["kind"], string> = { canary: "canary", silence: "stopped", direction: "direction" };

@customElement("kp-notices")
export class Notices extends PageElement {
  @state() private opened = false;

  /** The server may have to read all values to answer this, so the page asks only while the notices are open. */
  private readonly notices = new Resource(this, {
    args: () => (this.opened ? ([] as const) : undefined),
    load: (_, signal) => api.notices(signal),
  });

  override render() {
    return html`<details class="notices" @toggle=${(event: Event) => this.onToggle(event)}>
      <summary>Canaries that moved, benchmarks that stopped, directions that changed</summary>
      ${this.opened ? this.renderNotices() : nothing}
    </details>`;
  }

  private onToggle(event: Event): void {
    this.opened = (event.target as HTMLDetailsElement).open;
  }

  private renderNotices() {
    const { value: notices, error } = this.notices;
    if (error) return errorNotice(error, () => this.notices.reload());
    if (!notices) return loadingNotice("Reading all values");
    if (notices.length === 0)
      return html`<p class="faint">No canary moved, no benchmark stopped, and no direction changed.</p>`;
    return html`<ul>
        ${notices.map(renderNotice)}
      </ul>
      <a href=${routeUrl(missingRoute)}>All missing data, and renames</a>`;
  }
}

function renderNotice({ kind, text, repository, commit, changes }: Notice) {
  const findings = routeUrl({ ...triageRoute, repository, filter: commit });
  return html`<li>
    <span class="tag">${KINDS[kind]}</span> <span>${longName(text)}</span>
    <span class="second">
      <span>${repository}</span>
      ${commit ? html`<a href=${findings}>findings at ${commit.slice(0, HASH_DIGITS)}</a>` : nothing}
      ${changes.length > 0 ? html`<span>puts ${countText(changes.length, "change")} in doubt</span>` : nothing}
    </span>
  </li>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-notices": Notices;
  }
}
