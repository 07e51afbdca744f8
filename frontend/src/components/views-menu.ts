/** The bookmark in the header: a panel with the saved views, and a field that saves the page that is open. */

import { html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api, ApiError, toApiError, type Caller, type SharedView } from "../api/client";
import { PUBLISHED } from "../api/published-data";
import { PageElement } from "../page-element";
import { currentUrl } from "../routes/address";
import { routeUrl } from "../routes/routes";
import { settingsRoute } from "../routes/settings";
import { isAllowedSomewhere } from "../state/access";
import {
  keepViews,
  loadSharedViews,
  loadViews,
  LONGEST_NAME,
  viewsProblem,
  withView,
  type SavedView,
} from "../state/saved-views";
import { Submission } from "../state/submission";
import { showToast } from "../state/toasts";
import { dialogError } from "../templates/access";
import { noteOverlay } from "../state/overlays";

@customElement("kp-views-menu")
export class ViewsMenu extends PageElement {
  @property({ attribute: false }) caller!: Caller;
  @state() private views: readonly SavedView[] = [];
  @state() private shared: readonly SharedView[] = [];
  private readonly submission = new Submission(this);
  @query("#views-panel") private readonly panel!: HTMLElement | null;

  override render() {
    const { submission } = this;
    return html`<button class="icon" popovertarget="views-panel" aria-label="Saved views" title="Saved views">
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2h8v12l-4-3.2L4 14Z" /></svg>
      </button>
      <div id="views-panel" class="person-panel" popover @beforetoggle=${this.onToggle} @click=${this.onClick}>
        <h2>Saved views</h2>
        ${this.views.length > 0 ? renderViews(this.views) : nothing}
        ${
          this.shared.length > 0
            ? html`<h3>Shared with everybody</h3>
                ${renderViews(this.shared)}`
            : nothing
        }
        <form @submit=${(event: SubmitEvent) => void this.save(event)}>
          <label class="field"
            >Save this page as<input name="name" required maxlength=${LONGEST_NAME} autocomplete="off"
          /></label>
          ${
            PUBLISHED === undefined && isAllowedSomewhere(this.caller, "decide")
              ? html`<label class="choice"><input type="checkbox" name="shared" /> Share it with everybody</label>`
              : nothing
          }
          ${dialogError(submission.error)}
          <button class="button small" ?disabled=${submission.sending}>Save</button>
        </form>
        <a href=${routeUrl(settingsRoute)}>Settings</a>
      </div>`;
  }

  private readonly onToggle = (event: ToggleEvent): void => {
    const isOpen = event.newState === "open";
    if (this.panel) noteOverlay(this.panel);
    this.panel?.classList.toggle("open", isOpen);
    if (isOpen) void this.load();
  };

  private readonly onClick = (event: MouseEvent): void => {
    if ((event.target as Element).closest("a")) this.panel?.hidePopover();
  };

  private async load(): Promise<void> {
    this.submission.show(undefined);
    try {
      [this.views, this.shared] = await Promise.all([loadViews(), loadSharedViews()]);
    } catch (thrown) {
      this.submission.show(toApiError(thrown));
    }
  }

  private async save(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const data = new FormData(form);
    const text = data.get("name");
    const name = typeof text === "string" ? text.trim() : "";
    if (!name) {
      this.submission.show(new ApiError("The view has no name.", "", "Give it one."));
      return;
    }
    const url = currentUrl().pathname + currentUrl().search;
    await this.submission.send(async () => {
      if (data.has("shared")) {
        await api.shareView(name, url);
        window.dispatchEvent(new Event("kp-views"));
        this.panel?.hidePopover();
        form.reset();
        showToast({ text: `Everybody who may read this finds the view ${name}.` });
        return;
      }
      const before = await loadViews();
      const known = before.find((each) => each.name === name);
      const views = withView(before, {
        name,
        url,
        pinned: known?.pinned ?? false,
      });
      const problem = viewsProblem(views);
      if (problem) throw new ApiError(problem, name, "The settings page lists them.");
      await keepViews(views);
      this.panel?.hidePopover();
      form.reset();
      showToast({ text: known ? `The view ${name} leads to this page now.` : `Saved the view ${name}.` });
    });
  }
}

function renderViews(views: readonly { name: string; url: string; by?: string }[]) {
  return html`<ul class="plain saved-views">
    ${views.map(
      ({ name, url, by }) =>
        html`<li>
          <a href=${url}><bdi>${name}</bdi></a> ${by ? html`<span class="faint"><bdi>${by}</bdi></span>` : nothing}
        </li>`,
    )}
  </ul>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-views-menu": ViewsMenu;
  }
}
