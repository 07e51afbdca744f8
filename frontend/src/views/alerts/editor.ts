/** The editor of an alert: fields, a dry run over the past, and what it writes: a section of knickpoint.toml. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import {
  api,
  toApiError,
  type Alert,
  type AlertEffect,
  type AlertPreview,
  type AlertSettings,
  type ApiError,
} from "../../api/client";
import type { Release, Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { alertsRoute } from "../../routes/alerts";
import { routeUrl } from "../../routes/routes";
import { Resource } from "../../state/resource";
import { traceRoute } from "../../routes/trace";
import { commitLink } from "../../templates/change-table";
import { longName } from "../../templates/trace-name";
import { dialogError } from "../../templates/access";
import {
  alertToml,
  DEFAULTS,
  parametersText,
  parseParameters,
  parseTexts,
  settingsOf,
} from "../../text/alert-settings";
import { changeText } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { traceText } from "../../text/trace-names";

const DIRECTIONS = ["both", "worse", "better", "up", "down"];
const KINDS = ["work", "informational", "canary"];
const SEVERITIES = ["low", "normal", "high"];
const PERCENT = 100;

@customElement("kp-alert-editor")
export class AlertEditor extends PageElement {
  /** The alert that is edited; undefined for a new one. */
  @property({ attribute: false }) alert: Alert | undefined;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ type: Boolean }) mayApply = false;
  /** Whether the default alert, as no other is defined, watches everything: it would end with the first one. */
  @property({ type: Boolean }) endsDefault = false;
  @state() private toml = "";
  /** What the settings would do, until they change: only what was counted can be applied. */
  @state() private effect: AlertEffect | undefined;
  @state() private error: ApiError | undefined;
  @state() private busy = false;
  /** The repository that is chosen, whose tags are offered; "" for all. */
  @state() private watched: string | undefined;

  private readonly releases = new Resource<readonly [string], readonly Release[]>(this, {
    args: () => [this.watched ?? this.alert?.repository ?? ""],
    load: ([repository], signal) => api.releases(repository, signal),
  });

  private get form(): HTMLFormElement | null {
    return this.querySelector("form");
  }

  /** Only alerts of the store are changed here; files have their own ways. */
  private get isApplied(): boolean {
    return this.mayApply && (this.alert === undefined || this.alert.source === "store");
  }

  /** Settings that have no field: the alert keeps them. */
  private get unseen(): AlertSettings {
    const { line, minimum_change, settle_share, settle_least, settle_most } = this.alert ?? DEFAULTS;
    return { line, minimum_change, settle_share, settle_least, settle_most };
  }

  private read(): { name: string; settings: AlertSettings } {
    const data = new FormData(this.form ?? undefined);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    const values = {
      query: text("query"),
      repository: text("repository"),
      ...this.unseen,
      group_by: parseTexts(text("group_by")),
      method: text("method") || "default",
      parameters: parseParameters(text("parameters")),
      direction: text("direction"),
      minimum_effect: Number(text("minimum_effect")) / PERCENT,
      since: text("since") || DEFAULTS.since,
      minimum_traces: Number(text("minimum_traces")),
      window: Number(text("window")),
      kind: text("kind"),
      severity: text("severity"),
      owners: parseTexts(text("owners")),
      notify: parseTexts(text("notify")),
      every_minutes: Number(text("every_minutes")),
      samples: data.has("samples"),
      summary: text("summary"),
    } as AlertSettings;
    return { name: this.alert?.name ?? text("name"), settings: settingsOf(values) };
  }

  private onInput(): void {
    const { name, settings } = this.read();
    this.watched = settings.repository ?? "";
    this.toml = alertToml(name, settings);
    this.effect = undefined;
  }

  protected override firstUpdated(): void {
    this.onInput();
  }

  private async send(task: (name: string, settings: AlertSettings) => Promise<void>): Promise<void> {
    if (!this.form?.reportValidity()) return;
    this.busy = true;
    this.error = undefined;
    try {
      const { name, settings } = this.read();
      await task(name, settings);
    } catch (thrown) {
      this.error = toApiError(thrown);
    } finally {
      this.busy = false;
    }
  }

  private preview(): void {
    void this.send(async (name, settings) => {
      this.effect = await api.previewAlert({ ...settings, name, ...this.keepDefault });
    });
  }

  private get keepDefault(): { keep_default?: boolean } {
    return this.asksDefault ? { keep_default: new FormData(this.form ?? undefined).has("keep_default") } : {};
  }

  private get asksDefault(): boolean {
    return this.endsDefault && this.alert === undefined;
  }

  private apply(event: SubmitEvent): void {
    event.preventDefault();
    if (!this.effect || !this.isApplied) {
      this.preview();
      return;
    }
    const before = this.alert && settingsOf(this.alert);
    const kept = this.keepDefault;
    void this.send(async (name, settings) => {
      await (before ? api.changeAlert(name, settings) : api.createAlert({ ...settings, name, ...kept }));
      const undo = async (): Promise<void> => {
        if (before) await api.changeAlert(name, before);
        else await api.removeAlert(name);
        if (kept.keep_default) await api.removeAlert("default");
      };
      this.dispatchEvent(new CustomEvent<SavedAlert>("kp-saved", { detail: { name, text: `Applied ${name}.`, undo } }));
    });
  }

  override render() {
    return html`<form
      class="alert-editor inner"
      @submit=${(event: SubmitEvent) => this.apply(event)}
      @input=${() => this.onInput()}
    >
      <h2>${this.alert ? html`Settings of <bdi>${this.alert.name}</bdi>` : "New alert"}</h2>
      <div class="alert-fields">${this.renderFields()}</div>
      <h3>As configuration</h3>
      <pre class="commands">${this.toml}</pre>
      ${dialogError(this.error)} ${this.renderPreviews()}
      <div class="dialog-actions">
        <a class="button quiet" href=${routeUrl({ ...alertsRoute, name: this.alert?.name ?? "" })}>Cancel</a>
        <a
          class="button"
          download="alert.toml"
          href=${`data:application/toml;charset=utf-8,${encodeURIComponent(this.toml)}`}
          >Download</a
        >
        ${this.mayApply ? html`<button class=${`button ${this.isApplied ? "primary" : ""}`} ?disabled=${this.busy}>${this.submitText}</button>` : nothing}
      </div>
      ${
        this.isApplied
          ? nothing
          : html`<p class="faint">
              ${
                this.mayApply
                  ? `This alert is defined in ${this.alert?.place ?? ""}: put the section there.`
                  : "An admin applies it, or puts the section into knickpoint.toml."
              }
            </p>`
      }
    </form>`;
  }

  /** The first press counts, the second one applies what was counted. */
  private get submitText(): string {
    if (!this.isApplied) return "Dry run";
    if (!this.effect) return "Apply …";
    return this.effect.takes_changes ? "Yes, apply and let them go" : "Yes, apply";
  }

  /** Whether one of the folded settings differs from its default. */
  private get hasMore(): boolean {
    const { alert } = this;
    if (!alert) return false;
    const { since, summary, minimum_traces, window, every_minutes, kind, method, group_by, parameters, samples } =
      alert;
    const numbers = [minimum_traces - 1, window, every_minutes, group_by.length, Object.keys(parameters).length];
    const isUsual = since === DEFAULTS.since && summary === DEFAULTS.summary && kind === "work" && method === "default";
    return !isUsual || samples || numbers.some((each) => each !== 0);
  }

  private renderFields() {
    const { alert } = this;
    const input = (
      name: string,
      label: string,
      value: string | number,
      attributes: Partial<Record<string, string>> = {},
    ) =>
      html`<label class="field"
        >${label}<input
          name=${name}
          .defaultValue=${String(value)}
          type=${attributes.type ?? "text"}
          min=${attributes.min ?? nothing}
          step=${attributes.step ?? nothing}
          maxlength=${attributes.maxlength ?? nothing}
          list=${attributes.list ?? nothing}
          ?required=${attributes.type === "number" || attributes.required !== undefined}
          autocomplete="off"
          spellcheck="false"
      /></label>`;
    const select = (name: string, label: string, value: string, values: readonly string[]) =>
      html`<label class="field"
        >${label}<select name=${name}>
          ${values.map((each) => html`<option value=${each} ?selected=${each === value}>${each || "all"}</option>`)}
        </select></label
      >`;
    const number = { type: "number", min: "0" };
    return html`${alert ? nothing : input("name", "Name", "", { required: "", maxlength: "200" })}
      ${input("query", "Query; empty for all traces", alert?.query ?? "")}
      ${select("repository", "Repository", alert?.repository ?? "", ["", ...this.repositories.map(({ name }) => name)])}
      ${select("direction", "Direction", alert?.direction ?? "both", DIRECTIONS)}
      ${input("minimum_effect", "Minimum change in percent", (alert?.minimum_effect ?? 0) * PERCENT, { ...number, step: "any" })}
      ${select("severity", "Severity", alert?.severity ?? "normal", SEVERITIES)}
      ${input("owners", "Owners, separated by commas", alert?.owners.join(", ") ?? "")}
      ${input("notify", "Channels to notify, separated by commas", alert?.notify.join(", ") ?? "")}
      ${
        this.asksDefault
          ? html`<label
              ><input type="checkbox" name="keep_default" checked /> Also keep watching everything else, with the
              default alert</label
            >`
          : nothing
      }
      <details class="alert-more" ?open=${this.hasMore}>
        <summary>More settings: drifts, samples, kind, method</summary>
        <div class="alert-fields">
          ${input("since", "Compare drifts with: start, best, day, tag", alert?.since ?? DEFAULTS.since, { list: "references" })}
          <datalist id="references">
            <option value="start">where the drift begins</option>
            <option value="best">the best level before it</option>
            ${this.releases.value?.map(({ name, repository }) => html`<option value=${name}>${repository}</option>`)}
          </datalist>
          ${input("summary", "Statistic of the samples, such as p99", alert?.summary ?? "")}
          ${input("minimum_traces", "Minimum number of traces", alert?.minimum_traces ?? 1, { type: "number", min: "1" })}
          ${input("window", "Newest commits to examine; 0 for all", alert?.window ?? 0, number)}
          ${input("every_minutes", "Minutes between runs; 0 when results arrive", alert?.every_minutes ?? 0, { ...number, step: "any" })}
          ${select("kind", "Kind", alert?.kind ?? "work", KINDS)}
          ${input("method", "Method", alert?.method ?? "default")}
          ${input("group_by", "Group by these params, separated by commas", alert?.group_by.join(", ") ?? "")}
          <label class="field"
            >Parameters of the method, a name=value on each line<textarea
              name="parameters"
              rows="2"
              .defaultValue=${parametersText(alert?.parameters)}
            ></textarea>
          </label>
          <label
            ><input type="checkbox" name="samples" .defaultChecked=${alert?.samples ?? false} /> Judge all samples of a
            commit, not only their median</label
          >
        </div>
      </details>`;
  }

  private renderPreviews() {
    if (this.busy) return html`<p role="status">Judging the traces of the past …</p>`;
    if (!this.effect) return nothing;
    return html`<section role="status" aria-label="Dry run">
      ${effectLine(this.effect)}
      ${this.effect.alerts
        .filter(({ judged }) => judged > 0)
        .map(
          (preview) =>
            html`<p>
                <strong><bdi>${preview.name}</bdi></strong
                >: ${previewText(preview)}
              </p>
              ${
                preview.examples.length > 0
                  ? html`<ul>
                      ${preview.examples.map(
                        ({ trace, commit, size, relative_size }) =>
                          html`<li>
                            ${changeText({ size, relative_size, trace })}:
                            <a href=${routeUrl(traceRoute(trace.id))}
                              ><bdi>${longName(traceText(trace.params))}</bdi></a
                            >
                            at ${commitLink(commit, trace.repository)}
                          </li>`,
                      )}
                    </ul>`
                  : nothing
              }`,
        )}
    </section>`;
  }
}

/** What happens to the changes in all, loud if some go. */
export function effectLine({ text, takes_changes }: AlertEffect) {
  return html`<p class=${takes_changes ? "effect-line bad" : "effect-line"}>
    <strong>${text.charAt(0).toUpperCase()}${text.slice(1)}.</strong>
    ${takes_changes ? "What goes comes back with an alert that watches it; decisions stay." : nothing}
  </p>`;
}

/** An alert that was changed, and how to take that back. */
export interface SavedAlert {
  name: string;
  text: string;
  undo: () => Promise<void>;
}

/** "3 findings more, 1 of them history; 2 go, 1 of them decided; 40 of 40 traces were judged." */
function previewText(preview: AlertPreview): string {
  const { added, history, gone, decided, staying, left_out, judged, traces, complete } = preview;
  const left = Object.entries(left_out).map(([name, count]) => `${grouped(count)} by ${name}`);
  const least = complete ? "" : "at least ";
  const parts = [
    `${least}${countText(added, "finding")} more${history > 0 ? `, ${grouped(history)} of them history` : ""}`,
    `${least}${countText(gone, "finding")} fewer${decided > 0 ? `, ${grouped(decided)} of them with a decision` : ""}`,
    staying > 0 ? `${grouped(staying)} stay because another alert finds them` : "",
    left.length > 0 ? `found and left out: ${left.join(", ")}` : "",
    `${grouped(judged)} of ${countText(traces, "trace")} judged`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-alert-editor": AlertEditor;
  }
}
