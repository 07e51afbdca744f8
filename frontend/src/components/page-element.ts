import { LitElement } from "lit";

/** Render into the page itself, so that one style sheet, one focus order and one set of ids serve all parts. */
export class Part extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}
