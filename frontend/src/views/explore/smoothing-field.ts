/** The field for smoothing, and what the legend says of it. */

import { SMOOTHINGS } from "../../routes/url";
import { selectField } from "../../templates/select-field";
import type { ExploreContext } from "./context";

export function renderSmoothing(context: ExploreContext) {
  const options = SMOOTHINGS.map(
    (count) => [String(count), count === 1 ? "not smoothed" : `median of ${count} values`] as const,
  );
  return selectField("Smoothing", String(context.route.smooth), options, (count) => {
    context.updateRoute({ smooth: Number(count) }, "replace");
  });
}

/** "Smoothed: medians of 5 neighbouring values drawn"; nothing where the values themselves are drawn. */
export function smoothingText(count: number): string {
  return count === 1 ? "" : `Smoothed: medians of ${count} neighbouring values drawn`;
}
