/** The saved views of a person: open, pin and remove them. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, toApiError, type ApiError, type Caller, type SharedView } from "../../api/client";
import { PageElement } from "../../page-element";
import { isAllowedSomewhere } from "../../state/access";
import { keepViews, loadSharedViews, loadViews, withoutView, withView, type SavedView } from "../../state/saved-views";
import { Submission } from "../../state/submission";
import { showToast } from "../../state/toasts";
import { errorNotice } from "../../templates/notice";

@customElement("kp-views-list")
export class ViewsList extends PageElement {
  @property({ attribute: false }) caller!: Caller;
  @state() private views: readonly SavedView[] | undefined;
  @state() private shared: readonly SharedView[] = [];
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
      [this.views, this.shared] = await Promise.all([loadViews(), loadSharedViews()]);
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
      ${this.shared.length > 0 ? html`<h3>Shared with everybody</h3>` : nothing}
      <ul class="plain saved-views">
        ${this.shared.map((view) => this.renderShared(view))}
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

  private renderShared({ name, url, by }: SharedView) {
    return html`<li>
      <a href=${url}><bdi>${name}</bdi></a> <span class="faint">by <bdi>${by}</bdi></span>
      ${
        isAllowedSomewhere(this.caller, "decide")
          ? html`<button
              class="button small"
              aria-label="Stop sharing ${name}"
              ?disabled=${this.submission.sending}
              @click=${() => void this.unshare(name, url)}
            >
              Stop sharing
            </button>`
          : nothing
      }
    </li>`;
  }

  private async unshare(name: string, url: string): Promise<void> {
    await this.submission.send(async () => {
      await api.unshareView(name);
    });
    if (this.submission.error) return;
    await this.load();
    const undo = async (): Promise<void> => {
      await api.shareView(name, url);
      await this.load();
    };
    showToast({ text: `Nobody finds the view ${name} any more.`, action: { label: "Undo", run: () => void undo() } });
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
