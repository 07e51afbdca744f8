/** The field that selects the scale of a plot's values. */

import { SCALES, type Along, type Scale } from "../routes/url";
import { selectField } from "./select-field";

/** The scale after this one; the first after the last. */
export function nextScale(scale: Scale): Scale {
  return SCALES[(SCALES.indexOf(scale) + 1) % SCALES.length] ?? "auto";
}

/** The own scale of a graph after this one; undefined, for that of the page, comes after the last. */
export function nextOwnScale(scale: Scale | undefined): Scale | undefined {
  return scale === undefined ? SCALES[0] : SCALES[SCALES.indexOf(scale) + 1];
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

function scaleOptions(base: string) {
  const texts: Record<Scale, string> = { auto: "fit", zero: "from zero", log: "logarithmic", ratio: `% of ${base}` };
  return SCALES.map((name) => [name, texts[name]] as const);
}

/** `base` is what the relative scale divides by. */
export function scaleField(scale: Scale, base: string, onChange: (scale: Scale) => void) {
  const change = (value: string): void => onChange(value as Scale);
  return selectField("Scale of the values", scale, scaleOptions(base), change, "Scale of the values (y)");
}

/** The field for the scale of one of several graphs: that of all, or its own. */
export function ownScaleField(
  graph: number,
  scale: Scale | undefined,
  base: string,
  onChange: (scale: Scale | undefined) => void,
) {
  const options = [["", "scale of all graphs"] as const, ...scaleOptions(base)];
  const change = (value: string): void => onChange(SCALES.find((name) => name === value));
  return selectField(`Scale of graph ${graph}`, scale ?? "", options, change, "Scale of this graph alone (Y)");
}
