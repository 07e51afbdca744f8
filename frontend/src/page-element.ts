/** The base of all elements of the dashboard. */

import { LitElement } from "lit";

/** Render into the page instead of a shadow root: all elements share one style sheet, one focus order and one set of ids. */
export class PageElement extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}
