/** Read and write the parts of a URL that the routes share. */

/** How the values of a plot are scaled. */
export type Scale = "auto" | "zero" | "log" | "ratio";

export const SCALES: readonly Scale[] = ["auto", "zero", "log", "ratio"];

/** How many neighbouring values a drawn value may be the median of; 1 draws the values themselves. */
export const SMOOTHINGS: readonly number[] = [1, 5, 15, 51];

/** What a plot has from left to right: commits, evenly spaced, or their dates. */
export type Along = "commits" | "dates";

/** How one page stands in the URL: `parse` and `format` are each other's inverse. */
export interface RouteFormat<R> {
  /** The page's name in the title of the window. */
  title: string;
  /** The route that a URL stands for; undefined where the URL belongs to another page. */
  parse: (url: URL) => R | undefined;
  format: (route: R) => string;
}

/** A whole number of at most 15 digits, which a double holds exactly. */
export function parseWhole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A number from 1 to `maximum`, or the standard one where there is none. */
export function parseLimited(text: string | null, standard: number, maximum: number): number {
  const number = parseWhole(text);
  return number === undefined || number < 1 ? standard : Math.min(number, maximum);
}

export function parseList(text: string | null): string[] {
  return text ? text.split(",").map(decodeURIComponent) : [];
}

export function parseScale(text: string | null): Scale | undefined {
  return SCALES.find((scale) => scale === text);
}

export function parseAlong(text: string | null): Along {
  return text === "dates" ? "dates" : "commits";
}

/** The range of positions that a plot shows; undefined for the whole line. */
export function parseRange(search: URLSearchParams): { first: number | undefined; last: number | undefined } {
  return { first: parseWhole(search.get("first")), last: parseWhole(search.get("last")) };
}

/** A path with the parameters that have a value; routes give none for what is at its default. */
export function formatUrl(path: string, pairs: readonly (readonly [string, string | number | undefined])[]): string {
  const search = new URLSearchParams();
  for (const [name, value] of pairs) if (value !== undefined && value !== "") search.append(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}
