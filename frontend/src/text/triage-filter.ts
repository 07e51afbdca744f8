/** The words of the filter of triage: free ones, and `name:value` for what the API filters by. */

import { ApiError, type ListFilter } from "../api/client";

/** What words may name. The server refuses values that a field does not take. */
const FIELDS = ["alert", "assignee", "ticket", "since", "until", "sigma", "kind", "certainty", "condition"] as const;

type Field = (typeof FIELDS)[number];

export type FilterFields = Pick<ListFilter, "filter"> &
  Partial<Record<Exclude<Field, "sigma">, string>> & { minimum_sigma?: number };

/** What people see of the words that they can use. */
export const FILTER_HINT = `Words of the commit, its author or the trace, name=value of a param, and ${FIELDS.map((name) => `${name}:`).join(" ")}`;

/**
 * Split a filter into its fields and its free words. A value with spaces is quoted: `assignee:"Ada Lovelace"`. In quotes, a
 * backslash stands before a quote or a backslash of the value.
 *
 * A word that names no field is a free word: names of benchmarks have colons. So is a word in quotes, whatever it names.
 */
export function parseTriageFilter(text: string): FilterFields {
  const fields: Partial<Record<Field, string>> = {};
  const words: string[] = [];
  for (const { name, value, word } of wordsOf(text)) {
    if (isField(name)) fields[name] = value;
    else words.push(word);
  }
  const { sigma, ...named } = fields;
  return { ...named, ...(sigma ? { minimum_sigma: Number(sigma) } : {}), filter: words.join(" ") };
}

/**
 * Refuse what only looks like a field: a mistyped one, as `conditon:fixed`, would be searched for and never found.
 *
 * @throws ApiError names the word and the field that it may mean.
 */
export function checkTriageFilter(text: string): void {
  for (const { name, value, word } of wordsOf(text)) {
    const meant = isField(name) ? undefined : FIELDS.find((field) => isNear(name, field));
    const quote = `To search for the word itself, write "${word}".`;
    if (meant) throw new ApiError(`There is no filter “${name}:”.`, word, `Did you mean ${meant}:${value}? ${quote}`);
    if (name === "sigma" && !/^\d+(\.\d+)?$/.test(value))
      throw new ApiError(`“${value}” is not a number.`, word, "Write it as sigma:2.5.");
  }
}

function wordsOf(text: string): { name: string; value: string; word: string }[] {
  return [...text.matchAll(/[a-z]+:"(?:\\.|[^"\\])*"|"[^"\s]+"|\S+/g)].map(([word]) => {
    if (/^"[^"]+"$/.test(word)) return { name: "", value: "", word: word.slice(1, -1) };
    const [, name = "", quoted, plain = ""] = /^([a-z]+):(?:"((?:\\.|[^"\\])+)"|"?([^":]+)"?)$/.exec(word) ?? [];
    return { name, value: quoted?.replaceAll(/\\(.)/g, "$1") ?? plain, word };
  });
}

function isField(name: string): name is Field {
  return FIELDS.some((field) => field === name);
}

/** Whether two names are a letter apart: one is missing, another one, or in its neighbour's place. */
function isNear(one: string, other: string): boolean {
  const shortened = (name: string): string[] => [
    name,
    ...Array.from(name, (_, at) => name.slice(0, at) + name.slice(at + 1)),
  ];
  return one.length > 2 && shortened(one).some((each) => shortened(other).includes(each));
}
