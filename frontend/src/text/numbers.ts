/** Numbers as text. */

const formats = new Map<string, Intl.NumberFormat>();

/** A number with groups of thousands and `minimum` to `maximum` digits after the point: "1,234.5". */
export function grouped(value: number, maximum = 3, minimum = 0): string {
  // Formats are cached: to make one costs more than the rest of a table row.
  const key = `${minimum}-${maximum}`;
  const format =
    formats.get(key) ?? new Intl.NumberFormat("en", { maximumFractionDigits: maximum, minimumFractionDigits: minimum });
  formats.set(key, format);
  return format.format(value);
}

/** Whether a number is so large or so small that it has an exponent. */
export function hasExponent(value: number): boolean {
  const size = Math.abs(value);
  return size >= 1e15 || (size > 0 && size < 1e-6);
}

/** A number with `digits` significant digits; integers below a million keep all of theirs, unless an `exponent` is asked for. */
export function numberText(value: number, digits = 4, exponent = hasExponent(value)): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (exponent) return value.toExponential(digits - 1);
  if (Number.isInteger(value) && size < 1e6) return grouped(value).replaceAll("-", "−");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return grouped(value, Math.min(places, 12)).replaceAll("-", "−");
}

/** A fraction in percent without its sign: without decimals from 10 %, with up to two below 1 %. */
export function percentText(fraction: number): string {
  const size = Math.abs(fraction) * 100;
  if (size === 0) return "0 %";
  const digits = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  const text = size.toFixed(digits);
  return `${text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text} %`;
}

/** A fraction in percent with its sign and three digits: "+22.8 %"; all digits if it is large: "+1,170 %". */
export function signedPercentText(fraction: number): string {
  const size = Math.abs(fraction) * 100;
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const text = grouped(size, digits, digits);
  return `${fraction > 0 ? "+" : fraction < 0 ? "−" : ""}${text} %`;
}

/** A ratio of at least 3, as in "4.1× the time": one decimal below 100. */
export function ratioText(ratio: number): string {
  return grouped(ratio, ratio < 100 ? 1 : 0);
}

/** "1 finding", "6 findings". */
export function countText(number: number, singular: string, plural = `${singular}s`): string {
  return `${grouped(number)} ${number === 1 ? singular : plural}`;
}

/** The index of the first of ascending numbers that is not below a bound. */
export function lowerBound(numbers: ArrayLike<number>, bound: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
