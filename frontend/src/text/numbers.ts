/** Write numbers with groups of thousands. Formats are kept: making one costs more than all else in a row of a table. */

const kept = new Map<string, Intl.NumberFormat>();

/** A number with at most `most` and at least `least` digits after the point: "1,234.5". */
export function grouped(value: number, most = 3, least = 0): string {
  const name = `${least}-${most}`;
  const format =
    kept.get(name) ?? new Intl.NumberFormat("en", { maximumFractionDigits: most, minimumFractionDigits: least });
  kept.set(name, format);
  return format.format(value);
}
