/** The saved views of a person: open, pin and remove them. */

import { html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { toApiError, type ApiError } from "../../api/client";
import { PageElement } from "../../page-element";
import { keepViews, loadViews, withoutView, withView, type SavedView } from "../../state/saved-views";
import { Submission } from "../../state/submission";
import { showToast } from "../../state/toasts";
import { errorNotice } from "../../templates/notice";

@customElement("kp-views-list")
export class ViewsList extends PageElement {
  @state() private views: readonly SavedView[] | undefined;
  @state() private notLoaded: ApiError | undefined;
  private readonly submission = new Submission(this);
  private readonly onViews = (): void => void this.load();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-views", this.onViews);
    void this.load();
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-views", this.onViews);
    super.disconnectedCallback();
  }

  private async load(): Promise<void> {
    try {
      this.views = await loadViews();
      this.notLoaded = undefined;
    } catch (thrown) {
      this.notLoaded = toApiError(thrown);
    }
  }

  override render() {
    const { views, notLoaded, submission } = this;
    return html`<section aria-labelledby="settings-views">
      <h2 id="settings-views">Saved views</h2>
      ${notLoaded ? errorNotice(notLoaded, () => void this.load()) : nothing}
      ${submission.error ? errorNotice(submission.error, () => submission.show(undefined)) : nothing}
      ${views?.length === 0 ? html`<p class="faint">None yet. The bookmark in the header saves the page that is open.</p>` : nothing}
      <ul class="plain saved-views">
        ${(views ?? []).map((view) => this.renderView(view))}
      </ul>
    </section>`;
  }

  private renderView(view: SavedView) {
    const { name, url, pinned } = view;
    return html`<li>
      <a href=${url}><bdi>${name}</bdi></a>
      <button
        class="button small"
        aria-pressed=${pinned ? "true" : "false"}
        aria-label="Show ${name} on the overview"
        ?disabled=${this.submission.sending}
        @click=${() => void this.change(withView(this.views ?? [], { ...view, pinned: !pinned }))}
      >
        ${pinned ? "On the overview" : "Pin to the overview"}
      </button>
      <button
        class="button small"
        aria-label="Remove ${name}"
        ?disabled=${this.submission.sending}
        @click=${() => void this.removeView(view)}
      >
        Remove
      </button>
    </li>`;
  }

  private async removeView(view: SavedView): Promise<void> {
    await this.change(withoutView(this.views ?? [], view.name));
    if (this.submission.error) return;
    showToast({
      text: `Removed the view ${view.name}.`,
      action: { label: "Undo", run: () => void this.change(withView(this.views ?? [], view)) },
    });
  }

  private async change(views: readonly SavedView[]): Promise<void> {
    await this.submission.send(() => keepViews(views));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-views-list": ViewsList;
  }
}
