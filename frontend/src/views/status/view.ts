/** The status page: what was imported and what was not, events, workers, devices, the store, and coverage. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import {
  api,
  toApiError,
  type Caller,
  type Repository,
  type InstanceStatus,
  type RetryRequest,
} from "../../api/client";
import { PageElement } from "../../page-element";
import { navigate } from "../../routes/navigation";
import { missingRoute } from "../../routes/missing";
import { routeUrl } from "../../routes/routes";
import { statusRoute, type StatusRoute } from "../../routes/status";
import { isAllowedEverywhere } from "../../state/access";
import { Resource } from "../../state/resource";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { countText, grouped } from "../../text/numbers";
import { valueText } from "../../text/units";
import "./coverage";
import { renderEvents, renderFiles, renderWorkers, type RetryContext } from "./parts";

const FILES_AT_ONCE = 20;

@customElement("kp-status")
export class StatusView extends PageElement implements RetryContext {
  @property({ attribute: false }) route: StatusRoute = statusRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;
  @state() busy = false;
  /** What became of what was tried again. */
  @state() private outcome: readonly string[] = [];

  private readonly status = new Resource<readonly [], InstanceStatus>(this, {
    args: () => [],
    load: (_, signal) => api.status(signal),
  });

  get mayRetry(): boolean {
    return isAllowedEverywhere(this.caller, "admin");
  }

  async retry(request: RetryRequest): Promise<void> {
    this.busy = true;
    try {
      const files = request.files?.slice(0, FILES_AT_ONCE) ?? [];
      const done = await api.retry({ ...request, files });
      this.outcome = [
        ...done.files.flatMap(({ lines }) => lines),
        ...(request.events ? [`${countText(done.events, "event")} will be processed again.`] : []),
      ];
      this.status.reload();
    } catch (thrown) {
      const error = toApiError(thrown);
      this.outcome = [`Nothing was tried again: ${error.message} ${error.remedy}`];
    } finally {
      this.busy = false;
    }
  }

  override render() {
    const { value, error } = this.status;
    return html`<div class="page-head">
        <h1>Status</h1>
        <p class="faint">
          Benchmarks that stopped, jobs without results and renames are on
          <a href=${routeUrl(missingRoute)}>Missing</a>.
        </p>
        <button class="button" @click=${() => this.status.reload()}>Read again</button>
      </div>
      <div role="status">
        ${
          this.outcome.length > 0
            ? html`<ul class="status-outcome">
                ${this.outcome.map((line) => html`<li>${line}</li>`)}
              </ul>`
            : nothing
        }
      </div>
      ${error ? errorNotice(error, () => this.status.reload()) : nothing}
      ${
        value
          ? html`${renderFiles(this, value)} ${renderEvents(this, value)} ${renderWorkers(value)} ${renderStore(value)}`
          : error
            ? nothing
            : loadingNotice("Reading the status")
      }
      ${this.renderCoverage()}`;
  }

  private renderCoverage() {
    const measured = this.repositories.filter(({ traces }) => traces > 0);
    const shown = measured.find(({ name }) => name === this.route.repository) ?? measured[0];
    if (!shown) return nothing;
    return html`<section class="part" aria-labelledby="coverage-title">
      <h2 id="coverage-title">Coverage of <bdi>${shown.name}</bdi></h2>
      ${
        measured.length > 1
          ? html`<form class="tools inner" @submit=${(event: SubmitEvent) => event.preventDefault()}>
              ${selectField(
                "Repository",
                shown.name,
                measured.map(({ name }) => [name, name] as const),
                (repository) => navigate({ ...this.route, repository }),
              )}
            </form>`
          : nothing
      }
      <kp-coverage .repository=${shown.name}></kp-coverage>
    </section>`;
  }
}

function renderStore({ store }: InstanceStatus) {
  const size = store.size === null ? "" : `, ${valueText(store.size, "B")}`;
  return html`<section class="part">
    <h2>Store</h2>
    <p>
      ${store.kind === "sqlite" ? "SQLite" : "PostgreSQL"}${size}: ${countText(store.traces, "trace")} over
      ${grouped(store.commits)} commits. Schema ${store.schema_revision}.
    </p>
  </section>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-status": StatusView;
  }
}
