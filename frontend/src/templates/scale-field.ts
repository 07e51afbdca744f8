/** The field that selects the scale of a plot's values. */

import { SCALES, type Along, type Scale } from "../routes/url";
import { selectField } from "./select-field";

/** The scale after this one; the first after the last. */
export function nextScale(scale: Scale): Scale {
  return SCALES[(SCALES.indexOf(scale) + 1) % SCALES.length] ?? "auto";
}

export function otherAlong(along: Along): Along {
  return along === "commits" ? "dates" : "commits";
}

/** The field that selects what a plot has from left to right. */
export function alongField(along: Along, onChange: (along: Along) => void) {
  const options = [
    ["commits", "by commit"],
    ["dates", "by date"],
  ] as const;
  return selectField("From left to right", along, options, (value) => onChange(value as Along), "Commits or dates (d)");
}

/** `base` is what the relative scale divides by. */
export function scaleField(scale: Scale, base: string, onChange: (scale: Scale) => void) {
  const texts: Record<Scale, string> = { auto: "fit", zero: "from zero", log: "logarithmic", ratio: `% of ${base}` };
  const options = SCALES.map((name) => [name, texts[name]] as const);
  const change = (value: string): void => onChange(value as Scale);
  return selectField("Scale of the values", scale, options, change, "Scale of the values (y)");
}
