/** A field for a commit: what is typed is searched for in hashes, authors and subjects, and the commits found are offered. */

import { html, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api, isAborted, type Commit } from "../api/client";
import { PageElement } from "../page-element";
import { HASH_DIGITS } from "../templates/commit";
import { longName } from "../templates/trace-name";
import { dayText } from "../text/dates";

const OFFERED = 12;
const DELAY_MS = 150;

/** A combobox within a form; a revision may also be typed as it is. */
@customElement("kp-commit-field")
export class CommitField extends PageElement {
  @property() name = "";
  @property() label = "";
  @property() value = "";
  @property() hint = "";
  @property({ type: Boolean }) required = false;
  @property({ type: Boolean }) disabled = false;
  @property({ attribute: false }) repository = "";
  @property({ attribute: false }) line = "";
  /** The commit that the value stands for, once the server knows it. */
  @property({ attribute: false }) known: Commit | null | undefined;
  @state() private offered: readonly Commit[] | undefined;
  @state() private current = -1;
  /** The commit that a person chose from the list. */
  @state() private chosen: Commit | undefined;
  @query("input") private readonly input!: HTMLInputElement;
  private timer = 0;
  private search: AbortController | undefined;

  override willUpdate(changed: PropertyValues<this>): void {
    if (!this.chosen || !(changed.has("value") || changed.has("repository"))) return;
    if (changed.has("repository")) this.input.value = "";
    this.chosen = undefined;
  }

  override disconnectedCallback(): void {
    this.close();
    super.disconnectedCallback();
  }

  override render() {
    const { name, offered } = this;
    const shown = this.chosen ?? this.known;
    return html`<label class="field"
        >${this.label}<input
          name=${name}
          .value=${/^[0-9a-f]{40}$/.test(this.value) ? this.value.slice(0, HASH_DIGITS) : this.value}
          placeholder=${this.hint}
          ?required=${this.required && !this.disabled}
          ?disabled=${this.disabled}
          autocomplete="off"
          spellcheck="false"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded=${offered ? "true" : "false"}
          aria-controls="offered-${name}"
          aria-activedescendant=${this.current >= 0 ? `offered-${name}-${this.current}` : nothing}
          @click=${() => this.offer(0)}
          @input=${() => this.onInput()}
          @keydown=${(event: KeyboardEvent) => this.onKeydown(event)}
          @blur=${() => this.close()}
      /></label>
      <div id="offered-${name}" role="listbox" aria-label="Commits" class="offered" ?hidden=${!offered}>
        ${offered?.map((commit, index) => this.renderOption(commit, index))}
        ${offered?.length === 0 ? html`<p class="faint">No commit of this line has these words.</p>` : nothing}
      </div>
      ${shown && !this.disabled ? html`<p class="second commit-known"><bdi>${longName(shown.subject)}</bdi> ${day(shown)}</p>` : nothing}`;
  }

  private renderOption(commit: Commit, index: number) {
    return html`<div
      role="option"
      id="offered-${this.name}-${index}"
      aria-selected=${index === this.current ? "true" : "false"}
      @pointerdown=${(event: Event) => {
        event.preventDefault(); // the field keeps the keyboard
        this.choose(commit);
      }}
    >
      <code>${commit.short}</code> <bdi>${longName(commit.subject)}</bdi> <span class="faint">${day(commit)}</span>
    </div>`;
  }

  private onInput(): void {
    this.chosen = this.known = undefined;
    this.offer(DELAY_MS);
  }

  private offer(delay: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), delay);
  }

  private async load(): Promise<void> {
    this.search?.abort();
    const search = (this.search = new AbortController());
    // A field that has a commit already offers the newest ones, not itself.
    const words = this.chosen || this.known ? "" : this.input.value.trim();
    try {
      const found = await api.searchCommits(this.repository, this.line, words, OFFERED, search.signal);
      this.current = -1;
      if (this.contains(document.activeElement)) this.offered = found;
    } catch (thrown) {
      // The field takes any revision as it is typed: without a list it is a field like others.
      if (!isAborted(thrown)) this.offered = undefined;
    }
  }

  private onKeydown(event: KeyboardEvent): void {
    const { offered, current } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = offered?.[current];
    if (step && !offered) this.offer(0);
    else if (step && offered) this.current = Math.max(-1, Math.min(current + step, offered.length - 1));
    else if (event.key === "Enter" && at) this.choose(at);
    else if (event.key === "Escape" && offered) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
    void this.updateComplete.then(() =>
      this.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    );
  }

  private choose(commit: Commit): void {
    this.input.value = commit.short;
    this.chosen = commit;
    this.close();
  }

  private close(): void {
    window.clearTimeout(this.timer);
    this.search?.abort();
    this.offered = undefined;
    this.current = -1;
  }
}

function day({ time }: Commit): string {
  return time === null ? "" : dayText(time);
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-commit-field": CommitField;
  }
}
