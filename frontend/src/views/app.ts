/** The frame of all pages: the header, the page of the current route, messages and the keyboard help. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";
import { onRefusal } from "../api/access";
import { api, ApiError, toApiError, type Caller, type Repository } from "../api/client";
import { onReconnect, reportRecovery } from "../api/connection";
import "../components/keyboard-help";
import type { KeyboardHelp } from "../components/keyboard-help";
import "../components/person-menu";
import { PageElement } from "../page-element";
import "../components/toast";
import "../components/views-menu";
import { PUBLISHED } from "../api/published-data";
import { currentUrl, EMBEDDED, followPublishedLinks, forgetUrl, writeUrl } from "../routes/address";
import { alertsRoute } from "../routes/alerts";
import { auditRoute } from "../routes/audit";
import { clustersRoute } from "../routes/clusters";
import { compareRoute } from "../routes/compare";
import { exploreRoute } from "../routes/explore";
import { missingRoute } from "../routes/missing";
import { followLink, navigate } from "../routes/navigation";
import { enterPlace, followPlaces } from "../routes/place";
import { pageTitle, parseRoute, routeUrl, type Route, type View } from "../routes/routes";
import { overviewRoute } from "../routes/overview";
import { qualityRoute } from "../routes/quality";
import { settingsRoute } from "../routes/settings";
import { statusRoute } from "../routes/status";
import { tokensRoute } from "../routes/tokens";
import { triageRoute } from "../routes/triage";
import {
  isAllowedEverywhere,
  isAllowedSomewhere,
  NO_SESSION,
  nextSession,
  reader,
  type Session,
} from "../state/access";
import { chooseTheme, currentTimeZone, loadAppearance } from "../state/appearance";
import { personSettings } from "../state/person-settings";
import { Resource } from "../state/resource";
import { handleKey, registerShortcuts, type ShortcutGroup } from "../state/shortcuts";
import { currentTheme, nextTheme } from "../state/theme";
import { showToast } from "../state/toasts";
import { noPermissionNotice, noticeBanner, sessionEndedBanner, signInNotice } from "../templates/access";
import { errorNotice, loadingNotice } from "../templates/notice";
import { PAGES, type PageData } from "./pages";

/** The page itself: it is never removed, so its listeners stay. */
@customElement("kp-app")
export class App extends PageElement {
  @state() private route = this.readRoute();
  /** The time zone that the page was rendered in. */
  @state() private timeZone = currentTimeZone();
  @query("kp-keyboard-help") private readonly help!: KeyboardHelp | null;
  @query("main") private readonly content!: HTMLElement | null;

  /** Who asks, as the server knows them; undefined for a sign-in that the server does not accept. */
  private readonly me = new Resource<readonly [], Caller | undefined>(this, {
    args: () => [],
    load: (_, signal) => loadCaller(signal),
    keepAfterError: () => true,
    onAnswer: (caller) => this.onCaller(caller),
  });
  private session: Session = NO_SESSION;
  private linkInSight: Element | null = null;

  private readonly repositories = new Resource<readonly [], readonly Repository[]>(this, {
    args: () => (this.mayRead ? [] : undefined),
    load: (_, signal) => api.repositories(signal),
  });
  /** The page whose element is loaded. */
  private readonly loaded = new Resource<readonly [View], View>(this, {
    args: () => [this.route.view],
    load: async ([view], signal) => {
      await loadPage(view, signal);
      return view;
    },
  });
  private readonly version = new Resource<readonly [], string>(this, {
    args: () => [],
    load: async (_, signal) => (await api.version(signal)).version,
  });

  /** Show the route of the address; the keyboard goes on at the beginning of another page. */
  private readonly onRoute = (): void => {
    const { view } = this.route;
    this.route = this.readRoute();
    if (this.route.view !== view) this.content?.focus({ preventScroll: true });
  };
  /** Ask again who asks: a person may have signed in or out in another window. */
  private readonly onReturn = (): void => {
    if (document.visibilityState === "visible") this.me.reload();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    followPlaces();
    window.addEventListener("popstate", () => {
      forgetUrl();
      enterPlace();
      this.onRoute();
    });
    window.addEventListener("pagehide", writeUrl);
    window.addEventListener("kp-route", this.onRoute);
    window.addEventListener("kp-theme", () => this.requestUpdate());
    document.addEventListener("click", followLink);
    followPublishedLinks();
    document.addEventListener("keydown", handleKey);
    document.addEventListener("visibilitychange", this.onReturn);
    window.addEventListener("focus", this.onReturn);
    onRefusal(() => this.me.reload());
    onReconnect(() => {
      this.me.retry();
      // Some browsers remember that a module could not be loaded.
      if (this.loaded.error) location.reload();
    });
    registerShortcuts(() => [this.shortcuts()]);
  }

  /** Follow a change of the caller; what was refused before they signed in is requested again. */
  private onCaller(answer: Caller | undefined): void {
    const before = this.session;
    this.session = nextSession(before, answer && EMBEDDED ? reader(answer) : answer);
    if (before.ended && !this.session.ended) reportRecovery();
    const { caller } = this.session;
    if (caller && (caller.kind !== before.caller?.kind || caller.name !== before.caller.name))
      void this.loadAppearance();
  }

  /** Use what the person chose; a page that is shown renders anew if its dates change. */
  private async loadAppearance(): Promise<void> {
    personSettings.reset();
    try {
      await loadAppearance();
    } catch {
      return; // The page looks as this browser has it; what fails here fails visibly in the requests of the page.
    }
    this.timeZone = currentTimeZone();
  }

  private get mayRead(): boolean {
    const { caller } = this.session;
    return caller !== undefined && isAllowedSomewhere(caller, "read");
  }

  /** The route of the URL. Another page gives the window its title, to which a trace adds its name later. */
  private readRoute(): Route {
    const before = this.route as Route | undefined;
    const route = parseRoute(currentUrl());
    if (before?.view !== route.view) document.title = `${pageTitle(route.view)} · Knickpoint`;
    return route;
  }

  private shortcuts(): ShortcutGroup {
    return {
      title: "Everywhere",
      shortcuts: [
        { keys: ["?"], description: "this help", run: () => this.help?.show() },
        { keys: ["O"], description: "go to the overview", run: () => navigate(overviewRoute) },
        { keys: ["T"], description: "go to triage", run: () => navigate(triageRoute) },
        { keys: ["E"], description: "go to explore", run: () => navigate(exploreRoute) },
        { keys: ["C"], description: "go to compare", run: () => navigate(compareRoute) },
        { keys: [","], description: "go to the settings", run: () => navigate(settingsRoute) },
        { keys: ["D"], description: "theme: light, dark, or that of the system", run: () => this.changeTheme() },
      ],
    };
  }

  private changeTheme(): void {
    chooseTheme(nextTheme[currentTheme()]).catch((thrown: unknown) => {
      const { message, remedy } = toApiError(thrown);
      showToast({ text: `${message} ${remedy}`, failure: true });
    });
  }

  /** Where the views have no room beside each other, that of the page is in sight. */
  override updated(): void {
    const link = this.querySelector(".top > nav [aria-current=page]");
    // In the next frame, what stands beside the views has its width.
    const show = (): void => link?.scrollIntoView({ block: "nearest", inline: "center" });
    if (link !== this.linkInSight) requestAnimationFrame(show);
    this.linkInSight = link;
  }

  override render() {
    return html`
      ${
        EMBEDDED
          ? nothing
          : html`<a class="skip" href="#content">Skip to the content</a> ${this.renderHeader()} ${this.renderBanners()}`
      }
      <main id="content" tabindex="-1">${this.renderPage()}</main>
      <kp-toast></kp-toast>
      <kp-keyboard-help></kp-keyboard-help>
    `;
  }

  private renderHeader() {
    const theme = currentTheme();
    return html`<header class="top">
      <a class="brand" href="/" aria-label="Knickpoint, to the overview">
        <svg viewBox="0 0 34 20" aria-hidden="true">
          <path d="M2 15h12V5h18" />
          <circle cx="14" cy="10" r="3.2" /></svg
        >Knickpoint</a
      >
      ${this.renderNavigation()}
      <span class="spring"></span>
      <button
        class="icon spare"
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
      ${PUBLISHED === undefined ? this.renderServed() : nothing}
      <button class="icon" title="Keyboard (?)" aria-label="Keyboard help" @click=${() => this.help?.show()}>?</button>
    </header>`;
  }

  /** What only a server has: the API, and who asks. */
  private renderServed() {
    const { caller } = this.session;
    return html`<a
        class="icon spare"
        href="/api/v1/reference"
        target="_blank"
        title="API of version ${this.version.value ?? ""}"
        >API</a
      >
      ${caller && this.mayRead ? html`<kp-views-menu .caller=${caller}></kp-views-menu>` : nothing}
      ${caller ? html`<kp-person-menu .caller=${caller}></kp-person-menu>` : nothing}`;
  }

  /** The views that the caller may see. */
  private renderNavigation() {
    const { caller } = this.session;
    if (!caller || !this.mayRead) return nothing;
    return html`<nav aria-label="Views">
      ${this.renderLink("overview", routeUrl(overviewRoute), "Overview")}
      ${this.renderLink("triage", routeUrl(triageRoute), "Triage")}
      ${this.renderLink("explore", routeUrl(exploreRoute), "Explore")}
      ${PUBLISHED === undefined ? this.renderLink("compare", routeUrl(compareRoute), "Compare") : nothing}
      ${this.renderLink("alerts", routeUrl(alertsRoute), "Alerts")}
      ${
        PUBLISHED === undefined
          ? html`${this.renderLink("clusters", routeUrl(clustersRoute), "Clusters", "admin")}
            ${this.renderLink("status", routeUrl(statusRoute), "Status")}
            ${this.renderLink("missing", routeUrl(missingRoute), "Missing", "admin")}
            ${this.renderLink("quality", routeUrl(qualityRoute), "Quality", "admin")}`
          : nothing
      }
      ${isAllowedSomewhere(caller, "admin") ? this.renderLink("tokens", routeUrl(tokensRoute), "Tokens", "admin") : nothing}
      ${isAllowedEverywhere(caller, "admin") ? this.renderLink("audit", routeUrl(auditRoute), "Audit log", "admin") : nothing}
    </nav>`;
  }

  private renderBanners() {
    const { caller, ended } = this.session;
    if (!caller) return nothing;
    return html`${noticeBanner(caller)} ${ended ? sessionEndedBanner(caller) : nothing}`;
  }

  private renderLink(view: View, href: string, label: string, kind = "") {
    return html`<a class="nav ${kind}" href=${href} aria-current=${this.route.view === view ? "page" : "false"}
      >${label}</a
    >`;
  }

  private renderPage() {
    const { caller } = this.session;
    if (!caller) return this.renderUnknownCaller();
    if (!this.mayRead) return caller.kind === "anyone" ? signInNotice(caller) : noPermissionNotice(caller);
    if (PUBLISHED !== undefined && SERVED_PAGES.has(this.route.view)) return servedNotice();
    const { value: repositories, error } = this.repositories;
    if (error && !repositories) return errorNotice(error, () => this.repositories.reload());
    if (!repositories) return loadingNotice("Loading");
    const { value: loaded, error: notLoaded } = this.loaded;
    if (notLoaded) return errorNotice(notLoaded, () => location.reload());
    if (loaded !== this.route.view) return loadingNotice("Loading");
    const { render } = PAGES[loaded] as { render: (route: Route, data: PageData) => unknown };
    return keyed(this.timeZone, render(this.route, { repositories, caller }));
  }

  /** Before the first answer, or with a sign-in that the server does not accept. */
  private renderUnknownCaller() {
    const { error, answered } = this.me;
    if (error) return errorNotice(error, () => this.me.reload());
    return answered ? signInNotice(undefined) : loadingNotice("Loading");
  }
}

/** Pages that are nothing without a server. */
const SERVED_PAGES: ReadonlySet<View> = new Set<View>([
  "compare",
  "clusters",
  "status",
  "missing",
  "quality",
  "tokens",
  "audit",
]);

function servedNotice() {
  return html`<div class="notice">
    <h1>This page needs a running server</h1>
    <p>These published pages are a read-only copy. <code>knick serve</code> has all pages.</p>
    <p><a href=${routeUrl(overviewRoute)}>To the overview</a></p>
  </div>`;
}

/**
 * Load the element of a page. It fails when the server does not answer, or was updated: then the modules that an open page
 * does not have yet are gone.
 */
async function loadPage(view: View, signal: AbortSignal): Promise<void> {
  try {
    await PAGES[view].load();
  } catch {
    await api.version(signal);
    throw new ApiError("The page cannot be loaded.", view, "The server may have been updated: load the page again.");
  }
}

/** Ask who asks; undefined for a sign-in that is not valid. */
async function loadCaller(signal: AbortSignal): Promise<Caller | undefined> {
  try {
    return await api.me(signal);
  } catch (thrown) {
    if ((thrown as Partial<ApiError>).code === 401) return undefined;
    throw thrown;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-app": App;
  }
}
