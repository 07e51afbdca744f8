/** The alerts page: what each alert watches, when it ran, what it found, how people decided; and an editor. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import {
  api,
  toApiError,
  type Alert,
  type AlertEffect,
  type AlertRecord,
  type Caller,
  type Repository,
} from "../../api/client";
import { PageElement } from "../../page-element";
import { alertsRoute, type AlertsRoute } from "../../routes/alerts";
import { navigate } from "../../routes/navigation";
import { qualityRoute } from "../../routes/quality";
import { routeUrl } from "../../routes/routes";
import { alertChangesRoute } from "../../routes/triage";
import { isAllowedSomewhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { timestamp } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { changeTable } from "../../templates/change-table";
import { countText, grouped } from "../../text/numbers";
import { alertToml, settingsOf } from "../../text/alert-settings";
import { statusWord } from "../../text/findings";
import { showToast } from "../../state/toasts";
import { effectLine, type SavedAlert } from "./editor";

const SOURCES: Record<Alert["source"], string> = {
  configuration: "knickpoint.toml",
  store: "made here",
  repository: "file of the repository",
  default: "built in",
};

@customElement("kp-alerts")
export class AlertsView extends PageElement {
  @property({ attribute: false }) route: AlertsRoute = alertsRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;

  /** What removing the alert of that name would do, while that is asked. */
  @state() private removal: { name: string; effect: AlertEffect } | undefined;

  private readonly alerts = new Resource<readonly [], readonly Alert[]>(this, {
    args: () => [],
    load: (_, signal) => api.alerts(signal),
  });

  private readonly record = new Resource<readonly [string], AlertRecord>(this, {
    args: () => (this.route.name && !this.route.edit ? [this.route.name] : undefined),
    load: ([name], signal) => api.alertRecord(name, signal),
  });

  private get isAdmin(): boolean {
    return isAllowedSomewhere(this.caller, "admin");
  }

  override render() {
    const { value: alerts, error } = this.alerts;
    return html`<div class="page-head">
        <h1>Alerts</h1>
        <p class="faint">
          Each alert looks for changes in the traces of its query.
          <a href=${routeUrl(qualityRoute)}>Quality</a> measures how often they are right.
        </p>
        ${
          this.isAdmin
            ? html`<a class="button" href=${routeUrl({ ...alertsRoute, edit: true })}>New alert</a>`
            : nothing
        }
      </div>
      ${error ? errorNotice(error, () => this.alerts.reload()) : nothing}
      ${alerts ? this.renderAlerts(alerts) : error ? nothing : loadingNotice("Loading the alerts")}`;
  }

  private renderAlerts(alerts: readonly Alert[]) {
    const { name, edit } = this.route;
    const chosen = alerts.find((alert) => alert.name === name);
    const editor = edit
      ? html`<kp-alert-editor
          .alert=${chosen}
          .repositories=${this.repositories}
          .mayApply=${this.isAdmin}
          .endsDefault=${alerts.some(({ source }) => source === "default")}
          @kp-saved=${(event: CustomEvent<SavedAlert>) => this.onSaved(event.detail)}
        ></kp-alert-editor>`
      : nothing;
    return html`${editor} ${this.renderTable(alerts)} ${chosen && !edit ? this.renderAlert(chosen) : nothing}`;
  }

  private onSaved({ name, text, undo }: SavedAlert): void {
    this.removal = undefined;
    this.alerts.reload();
    navigate({ ...alertsRoute, name });
    const run = (): void =>
      void this.attempt(async () => {
        await undo();
        this.alerts.reload();
        showToast({ text: "Undone; findings follow at the next run." });
      });
    showToast({ text, action: { label: "Undo", run } });
  }

  private async attempt(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (thrown) {
      const { message, remedy } = toApiError(thrown);
      showToast({ text: `${message} ${remedy}`, failure: true });
    }
  }

  /** Count what removing an alert does, and do it when it was counted. */
  private askAndRemove(alert: Alert): void {
    const { name } = alert;
    void this.attempt(async () => {
      if (this.removal?.name !== name) {
        this.removal = { name, effect: await api.previewAlert({ name, removed: true }) };
        return;
      }
      await api.removeAlert(name);
      const undo = async (): Promise<void> => {
        await api.createAlert({ ...settingsOf(alert), name, keep_default: false });
      };
      this.onSaved({ name: "", text: `Removed ${name}.`, undo });
    });
  }

  private renderRemoval(alert: Alert) {
    if (alert.source !== "store" || !this.isAdmin) return nothing;
    const effect = this.removal?.name === alert.name ? this.removal.effect : undefined;
    const cancel = (): void => void (this.removal = undefined);
    return html`<button class=${`button small ${effect ? "primary" : ""}`} @click=${() => this.askAndRemove(alert)}>
        ${effect ? `Yes, remove ${effect.takes_changes ? "and let them go" : "it"}` : "Remove …"}
      </button>
      ${effect ? html`<button class="button small quiet" @click=${cancel}>Cancel</button>` : nothing}`;
  }

  private renderTable(alerts: readonly Alert[]) {
    return html`<div class="wide">
      <table class="records" aria-label="Alerts">
        <thead>
          <tr>
            <th scope="col">Alert</th>
            <th scope="col">Watches</th>
            <th scope="col">Reports</th>
            <th scope="col">Defined in</th>
            <th scope="col">Last run</th>
            <th scope="col">Found</th>
          </tr>
        </thead>
        <tbody>
          ${alerts.map(
            (alert) =>
              html`<tr aria-current=${alert.name === this.route.name ? "true" : "false"}>
                <th scope="row" data-label="Alert">
                  <a href=${routeUrl({ ...alertsRoute, name: alert.name })}><bdi>${alert.name}</bdi></a>
                  ${alert.kind === "work" ? nothing : html`<span class="tag">${alert.kind}</span>`}
                </th>
                <td data-label="Watches"><span>${watchesText(alert)}</span></td>
                <td data-label="Reports"><span>${reportsText(alert)}</span></td>
                <td data-label="Defined in"><span>${SOURCES[alert.source]}</span></td>
                <td data-label="Last run">
                  <span
                    >${alert.last_run ? timestamp(alert.last_run) : html`<span class="faint">not yet</span>`}
                    ${alert.failure ? html`<strong class="bad">fails: ${alert.failure}</strong>` : nothing}</span
                  >
                </td>
                <td data-label="Found">${changesLink(alert)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  private renderAlert(alert: Alert) {
    const { value: record, error } = this.record;
    const toml = alertToml(alert.name, settingsOf(alert));
    return html`<section class="part" aria-labelledby="alert-title">
      <h2 id="alert-title"><bdi>${alert.name}</bdi></h2>
      <p class="faint">${SOURCES[alert.source]}: <bdi>${alert.place}</bdi></p>
      <pre class="commands inner">${toml}</pre>
      <p>
        <a class="button small" href=${routeUrl({ ...alertsRoute, name: alert.name, edit: true })}
          >${alert.source === "store" ? "Edit" : "Try other settings"}</a
        >
        ${this.renderRemoval(alert)} ${changesLink(alert)}
      </p>
      ${this.removal?.name === alert.name ? html`<div role="status">${effectLine(this.removal.effect)}</div>` : nothing}
      ${error ? errorNotice(error, () => this.record.reload()) : nothing}
      ${record ? renderRecord(record) : error ? nothing : loadingNotice("Loading its record")}
    </section>`;
  }
}

function changesLink({ name }: Alert) {
  return html`<a href=${routeUrl(alertChangesRoute(name))} aria-label="Changes of ${name}">Changes</a>`;
}

function watchesText({ query, repository, line, every_minutes: minutes }: Alert): string {
  const where = [repository, line].filter(Boolean).join(", ");
  const when = minutes > 0 ? `, every ${minutes} minutes` : "";
  return `${query || "all traces"}${where ? ` of ${where}` : ""}${when}`;
}

function reportsText(alert: Alert): string {
  const { direction, minimum_effect: effect, minimum_traces: traces, method, severity } = alert;
  return [
    direction === "both" ? "changes" : `what is ${direction}`,
    effect > 0 ? `from ${grouped(effect * 100)} %` : "",
    traces > 1 ? `in at least ${traces} traces` : "",
    method === "default" ? "" : `by ${method}`,
    severity === "normal" ? "" : `${severity} severity`,
  ]
    .filter(Boolean)
    .join(", ");
}

function renderRecord({ counts, runs, largest }: AlertRecord) {
  const decided = counts.map(
    ({ condition, status, findings }) => `${grouped(findings)} ${condition}, ${statusWord[status]}`,
  );
  return html`<h3 class="inner">What it found</h3>
    <p>${decided.length > 0 ? `${decided.join("; ")}.` : "No finding yet."}</p>
    ${largest.length > 0 ? changeTable(largest, { label: "Largest unprocessed changes" }) : nothing}
    <h3 class="inner">When it ran</h3>
    ${
      runs.length === 0
        ? html`<p>No run of it has ended yet.</p>`
        : html`<div class="wide">
            <table class="records" aria-label="Runs">
              <thead>
                <tr>
                  <th scope="col">Started</th>
                  <th scope="col">Repository</th>
                  <th scope="col">Over</th>
                  <th scope="col" class="number">Seconds</th>
                  <th scope="col" class="number">New</th>
                  <th scope="col" class="number">Seen again</th>
                  <th scope="col" class="number">No more</th>
                </tr>
              </thead>
              <tbody>
                ${runs.map(
                  (run) =>
                    html`<tr>
                      <td data-label="Started">${timestamp(run.started)}</td>
                      <td data-label="Repository"><bdi>${run.repository}</bdi></td>
                      <td data-label="Over">
                        <span
                          >${run.complete ? "" : "new results in "}${countText(run.traces, "trace")}
                          ${run.failure ? html`<strong class="bad">failed: ${run.failure}</strong>` : nothing}</span
                        >
                      </td>
                      <td class="number figure" data-label="Seconds">${run.seconds.toFixed(1)}</td>
                      <td class="number figure" data-label="New">${grouped(run.added)}</td>
                      <td class="number figure" data-label="Seen again">${grouped(run.kept)}</td>
                      <td class="number figure" data-label="No more">${grouped(run.lost)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-alerts": AlertsView;
  }
}
