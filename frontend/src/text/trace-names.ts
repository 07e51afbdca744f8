/** The names of traces: the param that people know first, and long names in parts between which a line may break. */

/** The params that name what was measured, the most specific convention first. */
const NAME_PARAMS = ["benchmark", "test", "bench", "name", "test_name"];

/** The param that names what a trace measures; undefined for a trace without params. */
export function nameParamOf(params: Record<string, string>): string | undefined {
  return NAME_PARAMS.find((candidate) => candidate in params) ?? Object.keys(params)[0];
}

/** Split the params of a trace into its name and the others. */
export function traceName(params: Record<string, string>): { name: string; rest: [string, string][] } {
  const pairs = Object.entries(params);
  const nameParam = nameParamOf(params);
  return {
    name: nameParam === undefined ? "" : (params[nameParam] ?? ""),
    rest: pairs.filter(([param]) => param !== nameParam),
  };
}

/** A trace as one line of text, without the params in `omitted`. */
export function traceText(params: Record<string, string>, omitted: ReadonlySet<string> = new Set()): string {
  const { name, rest } = traceName(params);
  return [name, ...rest.filter(([param]) => !omitted.has(param)).map(([param, value]) => `${param}=${value}`)].join(
    " ",
  );
}

/** The params that have the same value in all of several traces; none for a single trace. */
export function commonParams(all: readonly Record<string, string>[]): Set<string> {
  const [first = {}, ...others] = all;
  if (others.length === 0) return new Set();
  return new Set(Object.keys(first).filter((param) => others.every((params) => params[param] === first[param])));
}

/** The part of a trace's text that others beside it do not share; its name if they share everything. */
export function differenceText(params: Record<string, string>, common: ReadonlySet<string>): string {
  const nameParam = nameParamOf(params);
  if (nameParam === undefined || !common.has(nameParam)) return traceText(params, common);
  const different = Object.entries(params).filter(([param]) => !common.has(param));
  return different.length > 0
    ? different.map(([param, value]) => `${param}=${value}`).join(" ")
    : (params[nameParam] ?? "");
}

/** What traces share, as one line of text: their name if it is among it, and the params. */
export function commonText(params: Record<string, string>, common: ReadonlySet<string>): string {
  const nameParam = nameParamOf(params) ?? "";
  const shared = Object.entries(params).filter(([param]) => param !== nameParam && common.has(param));
  return [
    ...(common.has(nameParam) ? [params[nameParam] ?? ""] : []),
    ...shared.map(([param, value]) => `${param}=${value}`),
  ].join(" ");
}

/** A trace key inside the id of a calculated trace: `,benchmark=parse,os=linux,`. */
const TRACE_KEY = /,(?:[^,=()"]+=[^,=()"]*,)+/g;

/** The id of a calculated trace for people: `norm(parse os=linux)` for `@norm(,benchmark=parse,os=linux,)`. */
export function formulaText(id: string, omitted: ReadonlySet<string> = new Set()): string {
  return id.replace(/^@/, "").replace(TRACE_KEY, (key) => traceText(paramsOf(key), omitted));
}

/** The params of a trace key. */
export function paramsOf(key: string): Record<string, string> {
  const pairs = key.split(",").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    return at < 0 ? [] : [[unescape(pair.slice(0, at)), unescape(pair.slice(at + 1))]];
  });
  return Object.fromEntries(pairs);
}

/** Trace keys escape the characters that separate params. */
function unescape(text: string): string {
  return text.replaceAll("%2C", ",").replaceAll("%3D", "=").replaceAll("%25", "%");
}

const BOUNDARY = /[./:_-]/;
const MIN_PREFIX = 12;

/** The length of the prefix that several texts share, up to a boundary between words; 0 if it is short. */
export function commonPrefixLength(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  if (others.length === 0) return 0;
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length--;
  while (length > 0 && !BOUNDARY.test(first.charAt(length - 1))) length--;
  return length >= MIN_PREFIX && texts.every((text) => text.length > length) ? length : 0;
}

/** A long name in parts; a line may break after each of them. */
export function breakableParts(name: string): string[] {
  return name.match(/.+?(?:[./:_,-]+|[a-z0-9](?=[A-Z])|$)/gs) ?? [];
}

const TAIL = 14;

/** A name as a head, which an ellipsis may shorten, and a tail, which stays: names often differ at their ends. */
export function splitForEllipsis(name: string): [head: string, tail: string] {
  return name.length <= 2 * TAIL ? [name, ""] : [name.slice(0, -TAIL), name.slice(-TAIL)];
}
