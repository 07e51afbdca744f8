import { html, nothing } from "lit";
import { api, type ApiError, type Repository } from "../api/client";
import { whenBack } from "../api/connection";
import { Part } from "../components/page-element";
import type { HelpPart } from "../components/keyboard-help";
import { failed, waiting } from "../templates/finding";
import { explore, followLink, go, readAddress, triage, type Address } from "../routes/routes";
import { addShortcuts, onKey } from "../state/shortcuts";
import { Latest } from "../state/latest";
import { nextTheme, setTheme, theme } from "../state/theme";

const TITLES: Record<Address["view"], string> = {
  triage: "Triage",
  trace: "Trace",
  explore: "Explore",
  unknown: "Not found",
};

class App extends Part {
  static override properties = {
    address: { state: true },
    repositories: { state: true },
    error: { state: true },
    version: { state: true },
  };
  declare address: Address;
  declare repositories: Repository[] | undefined;
  declare error: ApiError | undefined;
  declare version: string;

  private readonly reading = new Latest();
  private readonly onAddress = (): void => {
    const before = this.address as Address | undefined;
    this.address = readAddress(new URL(location.href));
    if (before?.view !== this.address.view) document.title = `${TITLES[this.address.view]} · Knickpoint`; // a trace adds its name
  };

  constructor() {
    super();
    this.version = "";
    this.onAddress();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("popstate", this.onAddress);
    window.addEventListener("kp-address", this.onAddress);
    document.addEventListener("click", followLink);
    document.addEventListener("keydown", onKey);
    addShortcuts(() => [
      {
        title: "Everywhere",
        list: [
          { keys: ["?"], does: "this help", run: () => this.querySelector<HelpPart>("kp-help")?.show() },
          { keys: ["T"], does: "to triage", run: () => go(triage) },
          { keys: ["E"], does: "to explore", run: () => go(explore) },
          { keys: ["D"], does: "light, dark, or as the system", run: () => this.changeTheme() },
        ],
      },
    ]);
    whenBack(() => this.error && void this.load());
    void this.load();
  }

  private load(): Promise<void> {
    this.error = undefined;
    return this.reading.run(
      async (signal, present) => {
        this.repositories = present(await api.repositories(signal));
        this.version = present(await api.version(signal)).version;
      },
      (error) => (this.error = error),
    );
  }

  private changeTheme(): void {
    setTheme(nextTheme[theme()]);
    this.requestUpdate();
  }

  override render() {
    const { view } = this.address;
    const link = (to: Address["view"], href: string, label: string) =>
      html`<a class="nav" href=${href} aria-current=${view === to ? "page" : "false"}>${label}</a>`;
    const now = theme();
    return html`
      <a class="skip" href="#content">Skip to the content</a>
      <header class="top">
        <a class="brand" href="/triage" aria-label="Knickpoint, to triage">
          <svg viewBox="0 0 34 20" aria-hidden="true">
            <path d="M2 15h12V5h18" />
            <circle cx="14" cy="10" r="3.2" /></svg
          >Knickpoint</a
        >
        <nav aria-label="Views">${link("triage", "/triage", "Triage")} ${link("explore", "/explore", "Explore")}</nav>
        <span class="spring"></span>
        <button
          class="icon"
          title="Theme: ${now} (D)"
          aria-label="Theme: ${now}. Change"
          @click=${() => this.changeTheme()}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r="6" />
            <path class="fill" d="M8 2a6 6 0 0 1 0 12Z" />
          </svg>
          ${now === "system" ? nothing : html`<span class="icon-word">${now}</span>`}
        </button>
        <a class="icon" href="/api/v1/reference" target="_blank" title="API of version ${this.version}">API</a>
        <button
          class="icon"
          title="Keyboard (?)"
          aria-label="Keyboard help"
          @click=${() => this.querySelector<HelpPart>("kp-help")?.show()}
        >
          ?
        </button>
      </header>
      <main id="content" tabindex="-1">${this.renderView()}</main>
      <kp-toast></kp-toast>
      <kp-help></kp-help>
    `;
  }

  private renderView() {
    if (this.error) return failed(this.error, () => void this.load());
    if (!this.repositories) return waiting("Opening");
    switch (this.address.view) {
      case "triage":
        return html`<kp-triage .address=${this.address} .repositories=${this.repositories}></kp-triage>`;
      case "trace":
        return html`<kp-trace .address=${this.address} .repositories=${this.repositories}></kp-trace>`;
      case "explore":
        return html`<kp-explore .address=${this.address} .repositories=${this.repositories}></kp-explore>`;
      case "unknown":
        return html`<div class="notice">
          <h2>There is no page at this address</h2>
          <p class="faint">${this.address.path}</p>
          <a class="button" href="/triage">Go to triage</a>
        </div>`;
    }
  }
}

customElements.define("kp-app", App);
