/** Who uses the page: the name in the header, and a panel with how they are known, what they may do, and sign-out. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { Caller } from "../api/client";
import { PageElement } from "../page-element";
import { auditRoute } from "../routes/audit";
import { missingRoute } from "../routes/missing";
import { qualityRoute } from "../routes/quality";
import { routeUrl } from "../routes/routes";
import { settingsRoute } from "../routes/settings";
import { tokensRoute } from "../routes/tokens";
import { isAllowedEverywhere, isAllowedSomewhere, signInUrl } from "../state/access";
import { signOutForm } from "../templates/access";
import { callerSource, callerTitle, grantTexts, NO_SIGN_IN } from "../text/callers";
import { noteOverlay } from "../state/overlays";

@customElement("kp-person-menu")
export class PersonMenu extends PageElement {
  @property({ attribute: false }) caller!: Caller;

  override render() {
    const { caller } = this;
    const title = callerTitle(caller);
    const source = callerSource(caller);
    return html`${this.renderSignIn()}
      <button
        class="icon person"
        popovertarget="person-panel"
        aria-label="Person: ${title}${source.toLowerCase() === title.toLowerCase() ? "" : `, ${source}`}"
        title="${title} (${source})"
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="5.4" r="2.9" />
          <path d="M2.4 14.4a5.7 5.7 0 0 1 11.2 0" />
        </svg>
        <bdi class="person-name">${title}</bdi>
        ${source.toLowerCase() === title.toLowerCase() ? nothing : html`<bdi class="person-source">${source}</bdi>`}
      </button>
      <div id="person-panel" class="person-panel" popover @beforetoggle=${onToggle} @click=${closeAfterLink}>
        ${this.renderPerson()} ${this.renderGrants()} ${this.renderLinks()} ${signOutForm(caller)}
      </div>`;
  }

  private renderPerson() {
    const { caller } = this;
    const { kind, name, mail } = caller;
    const title = callerTitle(caller);
    if (kind === "anyone") return html`<h2>${title}</h2>`;
    const names = [...new Set([name, mail])].filter((text) => text && text !== title);
    return html`<h2><bdi>${title}</bdi></h2>
      ${names.map((text) => html`<p><bdi>${text}</bdi></p>`)}
      <p class="faint"><bdi>${callerSource(caller)}</bdi></p>
      ${kind === "local" ? html`<p>${NO_SIGN_IN}</p>` : nothing}`;
  }

  private renderGrants() {
    return html`<dl class="grants">
      ${grantTexts(this.caller).map(
        ([repositories, permissions]) =>
          html`<div>
            <dt><bdi>${repositories}</bdi></dt>
            <dd>${permissions}</dd>
          </div>`,
      )}
    </dl>`;
  }

  /** The pages that have no room in the header of a narrow window. */
  private renderLinks() {
    const { caller } = this;
    return html`<p><a href=${routeUrl(settingsRoute)}>Settings</a></p>
      <nav class="person-links" aria-label="Administration">
        ${
          isAllowedSomewhere(caller, "read")
            ? html`<a href=${routeUrl(missingRoute)}>Missing</a> <a href=${routeUrl(qualityRoute)}>Quality</a>`
            : nothing
        }
        ${isAllowedSomewhere(caller, "admin") ? html`<a href=${routeUrl(tokensRoute)}>Tokens</a>` : nothing}
        ${isAllowedEverywhere(caller, "admin") ? html`<a href=${routeUrl(auditRoute)}>Audit log</a>` : nothing}
      </nav>`;
  }

  private renderSignIn() {
    const { kind, sign_in: ways } = this.caller;
    if (kind !== "anyone" || ways.length === 0) return nothing;
    return html`<a class="button small" href=${signInUrl()}>Sign in</a>`;
  }
}

/** Keys are for the panel while it is open: Escape closes it, and does nothing else. */
function onToggle(event: ToggleEvent): void {
  const panel = event.currentTarget as HTMLElement;
  noteOverlay(panel);
  panel.classList.toggle("open", event.newState === "open");
}

function closeAfterLink(event: MouseEvent): void {
  if ((event.target as Element).closest("a")) (event.currentTarget as HTMLElement).hidePopover();
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-person-menu": PersonMenu;
  }
}
