/** The alerts page: when each alert ran last. */

import { html } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Alert } from "../../src/api/client";
import { PageElement } from "../../src/page-element";
import type { AlertsRoute } from "./route";
import { Resource } from "../../src/state/resource";
import { date } from "../../src/templates/commit";
import { errorNotice, loadingNotice } from "../../src/templates/notice";

@customElement("kp-alerts")
export class AlertsView extends PageElement {
  @property({ attribute: false }) route: AlertsRoute = { view: "alerts", name: "" };

  private readonly alerts = new Resource<readonly [], readonly Alert[]>(this, {
    args: () => [],
    load: (_, signal) => api.alerts(signal),
  });

  override render() {
    const { value: alerts, error } = this.alerts;
    if (error) return errorNotice(error, () => this.alerts.reload());
    if (!alerts) return loadingNotice("Loading the alerts");
    const shown = alerts.filter(({ name }) => name.includes(this.route.name));
    return html`<h1>Alerts</h1>
      <ul>
        ${shown.map(({ name, last_run }) => html`<li>${name} ${date(last_run)}</li>`)}
      </ul>`;
  }
}
