/** The frame of all pages: the header, the page of the current route, messages and the keyboard help. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { api, type Repository } from "../api/client";
import "../components/keyboard-help";
import type { KeyboardHelp } from "../components/keyboard-help";
import { PageElement } from "../page-element";
import "../components/toast";
import { exploreRoute } from "../routes/explore";
import { followLink, navigate } from "../routes/navigation";
import { pageTitle, parseRoute, routeUrl, type Route, type View } from "../routes/routes";
import { triageRoute } from "../routes/triage";
import { Resource } from "../state/resource";
import { handleKey, registerShortcuts, type ShortcutGroup } from "../state/shortcuts";
import { currentTheme, nextTheme, setTheme } from "../state/theme";
import { errorNotice, loadingNotice } from "../templates/notice";
import { PAGES } from "./pages";

/** The page itself: it is never removed, so its listeners stay. */
@customElement("kp-app")
export class App extends PageElement {
  @state() private route = this.readRoute();
  @query("kp-keyboard-help") private readonly help!: KeyboardHelp | null;

  private readonly repositories = new Resource<readonly [], readonly Repository[]>(this, {
    args: () => [],
    load: (_, signal) => api.repositories(signal),
  });
  private readonly version = new Resource<readonly [], string>(this, {
    args: () => [],
    load: async (_, signal) => (await api.version(signal)).version,
  });

  private readonly onRoute = (): void => void (this.route = this.readRoute());

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("popstate", this.onRoute);
    window.addEventListener("kp-route", this.onRoute);
    document.addEventListener("click", followLink);
    document.addEventListener("keydown", handleKey);
    registerShortcuts(() => [this.shortcuts()]);
  }

  /** The route of the URL. Another page gives the window its title, to which a trace adds its name later. */
  private readRoute(): Route {
    const before = this.route as Route | undefined;
    const route = parseRoute(new URL(location.href));
    if (before?.view !== route.view) document.title = `${pageTitle(route.view)} · Knickpoint`;
    return route;
  }

  private shortcuts(): ShortcutGroup {
    return {
      title: "Everywhere",
      shortcuts: [
        { keys: ["?"], description: "this help", run: () => this.help?.show() },
        { keys: ["T"], description: "go to triage", run: () => navigate(triageRoute) },
        { keys: ["E"], description: "go to explore", run: () => navigate(exploreRoute) },
        { keys: ["D"], description: "theme: light, dark, or that of the system", run: () => this.changeTheme() },
      ],
    };
  }

  private changeTheme(): void {
    setTheme(nextTheme[currentTheme()]);
    this.requestUpdate();
  }

  override render() {
    return html`
      <a class="skip" href="#content">Skip to the content</a>
      ${this.renderHeader()}
      <main id="content" tabindex="-1">${this.renderPage()}</main>
      <kp-toast></kp-toast>
      <kp-keyboard-help></kp-keyboard-help>
    `;
  }

  private renderHeader() {
    const theme = currentTheme();
    return html`<header class="top">
      <a class="brand" href="/triage" aria-label="Knickpoint, to triage">
        <svg viewBox="0 0 34 20" aria-hidden="true">
          <path d="M2 15h12V5h18" />
          <circle cx="14" cy="10" r="3.2" /></svg
        >Knickpoint</a
      >
      <nav aria-label="Views">
        ${this.renderLink("triage", routeUrl(triageRoute), "Triage")}
        ${this.renderLink("explore", routeUrl(exploreRoute), "Explore")}
      </nav>
      <span class="spring"></span>
      <button
        class="icon"
        title="Theme: ${theme} (D)"
        aria-label="Theme: ${theme}. Change"
        @click=${() => this.changeTheme()}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="8" r="6" />
          <path class="fill" d="M8 2a6 6 0 0 1 0 12Z" />
        </svg>
        ${theme === "system" ? nothing : html`<span class="icon-word">${theme}</span>`}
      </button>
      <a class="icon" href="/api/v1/reference" target="_blank" title="API of version ${this.version.value ?? ""}"
        >API</a
      >
      <button class="icon" title="Keyboard (?)" aria-label="Keyboard help" @click=${() => this.help?.show()}>?</button>
    </header>`;
  }

  private renderLink(view: View, href: string, label: string) {
    return html`<a class="nav" href=${href} aria-current=${this.route.view === view ? "page" : "false"}>${label}</a>`;
  }

  private renderPage() {
    const { value: repositories, error } = this.repositories;
    if (error) return errorNotice(error, () => this.repositories.reload());
    if (!repositories) return loadingNotice("Loading");
    const render = PAGES[this.route.view] as (route: Route, repositories: readonly Repository[]) => unknown;
    return render(this.route, repositories);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-app": App;
  }
}
