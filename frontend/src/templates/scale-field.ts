/** The field that selects the scale of a plot's values. */

import { SCALES, type Scale } from "../routes/url";
import { selectField } from "./select-field";

/** The scale after this one; the first after the last. */
export function nextScale(scale: Scale): Scale {
  return SCALES[(SCALES.indexOf(scale) + 1) % SCALES.length] ?? "auto";
}

/** `base` is what the relative scale divides by. */
export function scaleField(scale: Scale, base: "first value" | "first level", onChange: (scale: Scale) => void) {
  const texts: Record<Scale, string> = { auto: "fit", zero: "from zero", log: "logarithmic", ratio: `% of ${base}` };
  const options = SCALES.map((name) => [name, texts[name]] as const);
  const change = (value: string): void => onChange(value as Scale);
  return selectField("Scale of the values", scale, options, change, "Scale of the values (y)");
}
