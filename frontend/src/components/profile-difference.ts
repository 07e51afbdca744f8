/** The profiles of two commits: what they say of a benchmark, and its flame graph. The graph is loaded for it alone. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { FlameGraphData } from "../api/client";
import { PageElement } from "../page-element";
import { Resource } from "../state/resource";
import { errorNotice, loadingNotice } from "../templates/notice";
import { selectField } from "../templates/select-field";

/** Sends `kp-flame` with what is shown, for an address; `shown` is what the address says. */
@customElement("kp-profile-difference")
export class ProfileDifference extends PageElement {
  /** What is compared: with another one, profiles are loaded again. */
  @property() about = "";
  @property() shown = "";
  @property({ attribute: false }) benchmarks: readonly string[] = [];
  @property({ attribute: false }) load!: (benchmark: string, signal?: AbortSignal) => Promise<FlameGraphData>;

  private readonly flame = new Resource(this, {
    args: () => [this.about, this.benchmark] as const,
    load: async ([, benchmark], signal) => {
      const [data] = await Promise.all([this.load(benchmark, signal), import("./flame-graph")]);
      return data;
    },
  });

  /** The benchmark of the address, else the first one. */
  private get benchmark(): string {
    const named = new URLSearchParams(this.shown).get("benchmark") ?? "";
    return this.benchmarks.includes(named) ? named : (this.benchmarks[0] ?? "");
  }

  override render() {
    const { value, error } = this.flame;
    const { benchmarks, benchmark } = this;
    const options = benchmarks.map((name) => [name, name] as const);
    return html`${benchmarks.length > 1 ? selectField("Benchmark", benchmark, options, (name) => this.show(name, "")) : nothing}
    ${
      value
        ? html`<p>
              ${value.sentence}${benchmarks.length > 1 ? nothing : html` <span class="faint">(${value.benchmark})</span>`}
            </p>
            <kp-flame-graph
              .shown=${this.shown}
              .data=${value}
              @kp-flame=${(event: CustomEvent<string>) => this.show(benchmark, event.detail, event)}
            ></kp-flame-graph>`
        : error
          ? errorNotice(error, () => this.flame.retry())
          : loadingNotice("Loading the flame graph")
    }`;
  }

  private show(benchmark: string, graph: string, event?: Event): void {
    event?.stopPropagation();
    const address = new URLSearchParams(graph);
    if (this.benchmarks[0] !== benchmark) address.set("benchmark", benchmark);
    this.shown = String(address);
    this.dispatchEvent(new CustomEvent("kp-flame", { detail: this.shown }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-profile-difference": ProfileDifference;
  }
}
