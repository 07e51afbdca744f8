/** The settings page: what a person sets for themselves, and the pages that they saved. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { Caller } from "../../api/client";
import { PageElement } from "../../page-element";
import { routeUrl } from "../../routes/routes";
import { tokensRoute } from "../../routes/tokens";
import { isAllowedSomewhere } from "../../state/access";
import { chooseTheme, chooseTimeZone, currentTimeZone, timeZones } from "../../state/appearance";
import { Submission } from "../../state/submission";
import { currentTheme, THEMES, type Theme } from "../../state/theme";
import { errorNotice } from "../../templates/notice";
import { callerSource, callerTitle, grantTexts, NO_SIGN_IN } from "../../text/callers";
import { browserTimeZone, timestampText } from "../../text/dates";
import "./views-list";

const THEME_TEXTS: Record<Theme, string> = { system: "System", light: "Light", dark: "Dark" };

@customElement("kp-settings")
export class SettingsView extends PageElement {
  @property({ attribute: false }) caller!: Caller;
  @state() private now = new Date().toISOString();
  private readonly submission = new Submission(this);
  private readonly onTheme = (): void => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-theme", this.onTheme);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.onTheme);
    super.disconnectedCallback();
  }

  override render() {
    const { error } = this.submission;
    return html`<div class="page-head">
        <h1>Settings</h1>
        <p class="faint">
          ${
            this.caller.kind === "person"
              ? "Kept on the server: the same in every browser in which you sign in."
              : "Kept in this browser."
          }
        </p>
      </div>
      ${error ? errorNotice(error, () => this.submission.show(undefined)) : nothing}
      <div class="settings">
        ${this.renderTheme()} ${this.renderDates()}
        <kp-views-list .caller=${this.caller}></kp-views-list>
        ${this.renderPerson()}
      </div>`;
  }

  private renderTheme() {
    const chosen = currentTheme();
    return html`<section aria-labelledby="settings-theme">
      <h2 id="settings-theme">Theme</h2>
      <div class="choices" role="radiogroup" aria-labelledby="settings-theme">
        ${THEMES.map(
          (theme) =>
            html`<label
              ><input
                type="radio"
                name="theme"
                .checked=${theme === chosen}
                @change=${() => void this.submission.send(() => chooseTheme(theme))}
              />${THEME_TEXTS[theme]}</label
            >`,
        )}
      </div>
    </section>`;
  }

  private renderDates() {
    const chosen = currentTimeZone();
    return html`<section aria-labelledby="settings-dates">
      <h2 id="settings-dates">Dates</h2>
      <label class="field"
        >Time zone
        <select @change=${(event: Event) => void this.chooseZone((event.target as HTMLSelectElement).value)}>
          <option value="" ?selected=${chosen === ""}>Browser (${browserTimeZone()})</option>
          ${timeZones().map((zone) => html`<option value=${zone} ?selected=${zone === chosen}>${zone}</option>`)}
        </select>
      </label>
      <p class="faint">Current time: <time datetime=${this.now}>${timestampText(this.now)}</time>.</p>
    </section>`;
  }

  private async chooseZone(zone: string): Promise<void> {
    await this.submission.send(() => chooseTimeZone(zone));
    this.now = new Date().toISOString();
  }

  private renderPerson() {
    const { caller } = this;
    const names = [...new Set([callerTitle(caller), caller.name, caller.mail])].filter(Boolean);
    return html`<section aria-labelledby="settings-person">
      <h2 id="settings-person">You</h2>
      <p>${names.map((name, at) => html`${at > 0 ? ", " : nothing}<bdi>${name}</bdi>`)}</p>
      <p class="faint">${caller.kind === "local" ? NO_SIGN_IN : callerSource(caller)}</p>
      <dl class="grants">
        ${grantTexts(caller).map(
          ([repositories, permissions]) =>
            html`<div>
              <dt><bdi>${repositories}</bdi></dt>
              <dd>${permissions}</dd>
            </div>`,
        )}
      </dl>
      ${isAllowedSomewhere(caller, "admin") ? html`<p><a href=${routeUrl(tokensRoute)}>API tokens</a></p>` : nothing}
      <p><a href="/api/v1/reference" target="_blank">API reference</a></p>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-settings": SettingsView;
  }
}
