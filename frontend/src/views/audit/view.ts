/** The audit log: who signed in, made tokens, changed the configuration and decided; the newest first. */

import { html, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { api, type AuditEntry, type Caller } from "../../api/client";
import { PageElement } from "../../page-element";
import { auditRoute, type AuditRoute } from "../../routes/audit";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { routeUrl } from "../../routes/routes";
import { auditPage, AUDIT_PAGE_SIZE, type AuditPage } from "../../state/audit";
import { isAllowedEverywhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { registerShortcuts, type ShortcutGroup } from "../../state/shortcuts";
import { adminsOnlyNotice } from "../../templates/access";
import { timestamp } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { AUDIT_KINDS, parseAuditKind } from "../../text/audit";

@customElement("kp-audit")
export class AuditView extends PageElement {
  @property({ attribute: false }) route: AuditRoute = auditRoute;
  @property({ attribute: false }) caller!: Caller;
  @query("#audit-who") private readonly whoField!: HTMLInputElement | null;
  private unregisterShortcuts: (() => void) | undefined;

  private readonly entries = new Resource<readonly [AuditRoute], AuditPage>(this, {
    args: () => (this.isAdmin ? [this.route] : undefined),
    argsEqual: ([before], [now]) => routeUrl(before) === routeUrl(now),
    load: async ([{ kind, who, before }], signal) =>
      auditPage(await api.audit({ kind, who, before, limit: AUDIT_PAGE_SIZE + 1 }, signal)),
    keepWhileLoading: () => true,
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.unregisterShortcuts = registerShortcuts(() => this.shortcuts());
  }

  override disconnectedCallback(): void {
    this.unregisterShortcuts?.();
    super.disconnectedCallback();
  }

  private shortcuts(): ShortcutGroup[] {
    if (!this.isAdmin) return [];
    return [
      {
        title: "Audit log",
        shortcuts: [
          { keys: ["]"], description: "older entries", run: () => this.showOlder() },
          { keys: ["["], description: "newest entries", run: () => this.updateRoute({ before: undefined }) },
          { keys: ["/"], description: "filter by person or token", run: () => this.whoField?.focus() },
        ],
      },
    ];
  }

  private get isAdmin(): boolean {
    return isAllowedEverywhere(this.caller, "admin");
  }

  private updateRoute(part: Partial<AuditRoute>, mode: HistoryMode = "push"): void {
    navigate({ ...this.route, ...part }, mode);
  }

  private showOlder(): void {
    const before = this.entries.value?.older;
    if (before !== undefined) this.updateRoute({ before });
  }

  override render() {
    if (!this.isAdmin) return adminsOnlyNotice(this.caller, "The entries of the audit log");
    const { value: page, error } = this.entries;
    return html`<div class="page-head">
        <h1>Audit log</h1>
        <p class="faint">
          Who signed in, made tokens, changed the configuration and decided. Entries are only ever added.
        </p>
      </div>
      ${this.renderFilters()} ${error ? errorNotice(error, () => this.entries.reload()) : nothing}
      ${page ? this.renderPage(page) : error ? nothing : loadingNotice("Loading the audit log")}`;
  }

  private renderFilters() {
    const { kind, who } = this.route;
    const kinds = Object.entries(AUDIT_KINDS);
    const filterBy = (part: Partial<AuditRoute>): void => this.updateRoute({ ...part, before: undefined });
    return html`<form class="tools" role="search" @submit=${(event: SubmitEvent) => event.preventDefault()}>
      ${selectField("Kind of entry", kind ?? "", [["", "All entries"], ...kinds], (chosen) => filterBy({ kind: parseAuditKind(chosen) }))}
      <label class="search"
        ><span class="sr-only">Name of the person or token</span>
        <input
          id="audit-who"
          type="search"
          placeholder="Name of the person or token"
          maxlength="500"
          .value=${who}
          autocomplete="off"
          spellcheck="false"
          @change=${(event: Event) => filterBy({ who: (event.target as HTMLInputElement).value.trim() })}
          @keydown=${leaveOnEscape}
        /><kbd aria-hidden="true">/</kbd></label
      >
    </form>`;
  }

  private renderPage({ entries, older }: AuditPage) {
    if (entries.length === 0) return this.renderEmpty();
    return html`<table class="records audit">
        <caption class="sr-only">
          Entries of the audit log, the newest first
        </caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">About</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          ${entries.map(renderEntry)}
        </tbody>
      </table>
      ${this.renderPager(older)}`;
  }

  private renderEmpty() {
    const { kind, who, before } = this.route;
    const filtered = kind !== undefined || who !== "" || before !== undefined;
    return html`<div class="notice">
      <h2>${filtered ? "No entry matches the filter" : "The audit log is empty"}</h2>
      <p>${filtered ? "Names are compared as a whole." : "The first decision, token or sign-in is its first entry."}</p>
      ${filtered ? html`<a class="button" href=${routeUrl(auditRoute)}>Show all entries</a>` : nothing}
    </div>`;
  }

  private renderPager(older: number | undefined) {
    const { route } = this;
    if (older === undefined && route.before === undefined) return nothing;
    const link = (label: string, key: string, before: number | undefined, enabled: boolean) =>
      enabled
        ? html`<a class="button small" href=${routeUrl({ ...route, before })}>${label} <kbd>${key}</kbd></a>`
        : html`<span class="button small" aria-disabled="true">${label} <kbd>${key}</kbd></span>`;
    return html`<nav class="records-pages" aria-label="Pages">
      ${link("Newest", "[", undefined, route.before !== undefined)} ${link("Older", "]", older, older !== undefined)}
    </nav>`;
  }
}

function renderEntry({ time, who, kind, about, address }: AuditEntry) {
  return html`<tr>
    <td class="when">${timestamp(time)}</td>
    <td class="name" data-label="Who"><bdi>${who}</bdi></td>
    <td class="kind" data-label="What">${AUDIT_KINDS[kind]}</td>
    <td data-label="About"><bdi>${about}</bdi></td>
    <td class=${address === "" ? "empty" : "address"} data-label="From"><bdi>${address}</bdi></td>
  </tr>`;
}

function leaveOnEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.target as HTMLInputElement).blur();
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-audit": AuditView;
  }
}
