/** The differential flame graph of two versions: that of the page which `knick profile diff --html` writes. */

// The files of that page: one graph, in two places.
import { flameGraph } from "../../../src/knickpoint/profiles/page/flame.js";
import styles from "../../../src/knickpoint/profiles/page/page.css?inline";
import type { FlameGraphData } from "../api/client";
import { shownTheme } from "../state/theme";

const OWN_COLOURS = `
  :host { color-scheme: inherit; display: block; --back: var(--paper); --text: var(--ink); --soft: var(--ink-soft);
    --field: var(--paper); }
  h2 { font-weight: 600; }`;

/** Draws `data`, and sends `kp-flame` with what is shown; `shown` is what an address says of it. */
export class FlameGraph extends HTMLElement {
  private update: (() => void) | undefined;
  private drawn: FlameGraphData | undefined;
  private address = "";
  private readonly onTheme = (): void => this.update?.();

  constructor() {
    super();
    const sheets = [styles, OWN_COLOURS].map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = sheets;
    // Keys that the graph and its search field take are no shortcuts of the page.
    this.addEventListener("keydown", (event) => {
      const [target] = event.composedPath();
      if (event.defaultPrevented || target instanceof HTMLInputElement) event.stopPropagation();
    });
  }

  set shown(address: string) {
    if (address === this.address) return;
    this.address = address;
    this.update?.();
  }

  set data(data: FlameGraphData) {
    if (data === this.drawn || !this.shadowRoot) return;
    this.drawn = data;
    const place = document.createElement("div");
    this.shadowRoot.replaceChildren(place);
    this.update = flameGraph(place, data, {
      keys: this,
      isDark: () => shownTheme() === "dark",
      read: () => this.address,
      write: (text) => {
        if (text === this.address) return;
        this.address = text;
        this.dispatchEvent(new CustomEvent("kp-flame", { detail: text }));
      },
    });
  }

  connectedCallback(): void {
    window.addEventListener("kp-theme", this.onTheme);
  }

  disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.onTheme);
  }
}

customElements.define("kp-flame-graph", FlameGraph);
