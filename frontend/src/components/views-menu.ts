/** The bookmark in the header: a panel with the saved views, and a field that saves the page that is open. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { ApiError, toApiError } from "../api/client";
import { PageElement } from "../page-element";
import { currentUrl } from "../routes/address";
import { routeUrl } from "../routes/routes";
import { settingsRoute } from "../routes/settings";
import { keepViews, loadViews, LONGEST_NAME, viewsProblem, withView, type SavedView } from "../state/saved-views";
import { Submission } from "../state/submission";
import { showToast } from "../state/toasts";
import { dialogError } from "../templates/access";
import { noteOverlay } from "../state/overlays";

@customElement("kp-views-menu")
export class ViewsMenu extends PageElement {
  @state() private views: readonly SavedView[] = [];
  private readonly submission = new Submission(this);
  @query("#views-panel") private readonly panel!: HTMLElement | null;

  override render() {
    const { submission } = this;
    return html`<button class="icon" popovertarget="views-panel" aria-label="Saved views" title="Saved views">
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2h8v12l-4-3.2L4 14Z" /></svg>
      </button>
      <div id="views-panel" class="person-panel" popover @beforetoggle=${this.onToggle} @click=${this.onClick}>
        <h2>Saved views</h2>
        ${this.views.length > 0 ? this.renderViews() : nothing}
        <form @submit=${(event: SubmitEvent) => void this.save(event)}>
          <label class="field"
            >Save this page as<input name="name" required maxlength=${LONGEST_NAME} autocomplete="off"
          /></label>
          ${dialogError(submission.error)}
          <button class="button small" ?disabled=${submission.sending}>Save</button>
        </form>
        <a href=${routeUrl(settingsRoute)}>Settings</a>
      </div>`;
  }

  private renderViews() {
    return html`<ul class="plain saved-views">
      ${this.views.map(
        ({ name, url }) =>
          html`<li>
            <a href=${url}><bdi>${name}</bdi></a>
          </li>`,
      )}
    </ul>`;
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
      this.views = await loadViews();
    } catch (thrown) {
      this.submission.show(toApiError(thrown));
    }
  }

  private async save(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const text = new FormData(form).get("name");
    const name = typeof text === "string" ? text.trim() : "";
    if (!name) {
      this.submission.show(new ApiError("The view has no name.", "", "Give it one."));
      return;
    }
    await this.submission.send(async () => {
      const before = await loadViews();
      const known = before.find((each) => each.name === name);
      const views = withView(before, {
        name,
        url: currentUrl().pathname + currentUrl().search,
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

declare global {
  interface HTMLElementTagNameMap {
    "kp-views-menu": ViewsMenu;
  }
}
