/** What all pages show of who asks: the open port, a sign-in that ended, and what to do without permission. */

import { html, nothing, type TemplateResult } from "lit";
import type { ApiError, Caller } from "../api/client";
import { signInUrl } from "../state/access";
import { callerSource, callerTitle } from "../text/callers";

/** What everybody should know who uses the page: the port is open without sign-in, or the sign-in has ended. */
export function noticeBanner({ kind, open, notice, sign_in: ways }: Caller) {
  if (open) return html`<p class="banner warning" role="note" aria-label="Open port">${notice}</p>`;
  if (kind !== "anyone" || !notice) return nothing;
  const link = ways.length > 0 ? html`<a class="button small" href=${signInUrl()}>Sign in</a>` : nothing;
  return html`<div class="banner" role="note">
    <p>${notice}</p>
    ${link}
  </div>`;
}

/** The page stays as it is: the person signs in beside it, and continues here. */
export function sessionEndedBanner(caller: Caller): TemplateResult {
  return html`<div class="banner ended" role="alert">
    <p>
      <strong>The sign-in of <bdi>${callerTitle(caller)}</bdi> has ended.</strong> This page keeps what you typed. Sign
      in again to continue.
    </p>
    ${signInBeside("Sign in again")}
  </div>`;
}

/** A link to the sign-in in a new tab, which leaves this page and all that was typed on it as they are. */
export function signInBeside(label: string): TemplateResult {
  return html`<a class="button small" href=${signInUrl()} target="_blank" rel="noopener"
    >${label}<span class="sr-only"> (opens a new tab)</span></a
  >`;
}

/** Instead of a page that only people who signed in may see; the sign-in comes back to it. */
export function signInNotice(caller: Caller | undefined): TemplateResult {
  const ways = caller?.sign_in ?? [];
  if (caller && ways.length === 0) return noWayIn(caller);
  return html`<div class="notice">
    <h1>Sign in</h1>
    <p>Only people who sign in see the findings of this instance.</p>
    ${
      ways.length > 1
        ? ways.map(({ title, address }) => html`<a class="button" href=${signInUrl(address)}>Sign in with ${title}</a>`)
        : html`<a class="button primary" href=${signInUrl()}>Sign in</a>`
    }
  </div>`;
}

/** A proxy in front of the server should have signed the person in, or no sign-in is configured. */
function noWayIn({ notice }: Caller): TemplateResult {
  return html`<div class="notice">
    <h1>This server does not know you</h1>
    <p>${notice || "People sign in through the proxy in front of this server. Open the address of the proxy."}</p>
  </div>`;
}

/** Instead of all pages, for a known person without a role. */
export function noPermissionNotice(caller: Caller): TemplateResult {
  return html`<div class="notice">
    <h1>You may not read this instance</h1>
    <p><bdi>${callerTitle(caller)}</bdi> is ${callerSource(caller)}, and has no role here.</p>
    <p>
      Ask the operator to give <bdi>${caller.name}</bdi> a role in <code>[roles]</code> of <code>knickpoint.toml</code>.
    </p>
    ${signOutForm(caller)}
  </div>`;
}

/** Instead of a page that takes a permission which the caller does not have. */
export function adminsOnlyNotice(caller: Caller, what: string): TemplateResult {
  return html`<div class="notice">
    <h1>${what} are for admins</h1>
    <p>You are ${callerSource(caller)} as <bdi>${callerTitle(caller)}</bdi>, without the role of an admin.</p>
    <a class="button" href="/triage">Go to triage</a>
  </div>`;
}

/** A form and no script: signing out works whatever the page is doing. */
export function signOutForm({ sign_out: address }: Caller) {
  if (!address) return nothing;
  return html`<form method="post" action=${address}><button class="button">Sign out</button></form>`;
}

/** An error within a dialog: what was typed stays, also while the person signs in again. */
export function dialogError(error: ApiError | undefined) {
  if (!error) return nothing;
  const ended = error.code === 401;
  const text = "Nothing was recorded: your sign-in has ended. What you typed stays here. Sign in, then send it again.";
  return html`<div class="dialog-error" role="alert">
    <p>${ended ? text : `${error.message} ${error.remedy}`}</p>
    ${ended ? signInBeside("Sign in") : nothing}
  </div>`;
}
