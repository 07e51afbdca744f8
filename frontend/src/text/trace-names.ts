/** Say the names of traces: the part that people know first, long ones in pieces that a line can break between. */

const NAMES = ["benchmark", "test", "bench", "name", "test_name"];

/** Split the params of a trace into the name people know it by and the rest. */
export function traceName(params: Record<string, string>): { name: string; rest: [string, string][] } {
  const pairs = Object.entries(params);
  const key = NAMES.find((candidate) => candidate in params) ?? pairs[0]?.[0];
  return {
    name: key === undefined ? "" : (params[key] ?? ""),
    rest: pairs.filter(([own]) => own !== key),
  };
}

/** A trace in one line of text, without the params that are named in `apart`. */
export function traceText(params: Record<string, string>, apart: ReadonlySet<string> = new Set()): string {
  const { name, rest } = traceName(params);
  return [name, ...rest.filter(([key]) => !apart.has(key)).map(([key, value]) => `${key}=${value}`)].join(" ");
}

/** The names of the params that are the same in all of several traces; none of a single one. */
export function commonParams(all: readonly Record<string, string>[]): Set<string> {
  const [first = {}, ...others] = all;
  if (others.length === 0) return new Set();
  return new Set(Object.keys(first).filter((key) => others.every((params) => params[key] === first[key])));
}

const KEY = /,(?:[^,=()"]+=[^,=()"]*,)+/g;

/** The id of a calculated trace as people read it: `norm(parse os=linux)` for `@norm(,benchmark=parse,os=linux,)`. */
export function formulaText(id: string, apart: ReadonlySet<string> = new Set()): string {
  return id.replace(/^@/, "").replace(KEY, (key) => traceText(paramsOf(key), apart));
}

function paramsOf(key: string): Record<string, string> {
  const pairs = key.split(",").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    return at < 0 ? [] : [[plain(pair.slice(0, at)), plain(pair.slice(at + 1))]];
  });
  return Object.fromEntries(pairs);
}

function plain(text: string): string {
  return text.replaceAll("%2C", ",").replaceAll("%3D", "=").replaceAll("%25", "%");
}

const BOUNDARY = /[./:_-]/;
const WORTH_CUTTING = 12;

/** How much of the beginning all texts have in common, up to a boundary between words; 0 where it is short. */
export function commonBeginning(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  if (others.length === 0) return 0;
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length--;
  while (length > 0 && !BOUNDARY.test(first.charAt(length - 1))) length--;
  return length >= WORTH_CUTTING && texts.every((text) => text.length > length) ? length : 0;
}

/** The pieces of a long name; a line may end after each of them. */
export function pieces(name: string): string[] {
  return name.match(/.+?(?:[./:_,-]+|[a-z0-9](?=[A-Z])|$)/gs) ?? [];
}

const TAIL = 14;

/** A name as a beginning, which may be cut where there is little room, and an end, which stays. */
export function headAndTail(name: string): [string, string] {
  return name.length <= 2 * TAIL ? [name, ""] : [name.slice(0, -TAIL), name.slice(-TAIL)];
}
