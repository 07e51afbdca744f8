/** The words of the filter of triage: free ones, and `name:value` for what the API filters by. */

import type { ListFilter } from "../api/client";

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** What words may name, with the values that only some of them take. */
const FIELDS = {
  alert: undefined,
  assignee: undefined,
  ticket: undefined,
  since: DAY,
  until: DAY,
  sigma: /^\d+(\.\d+)?$/,
  kind: /^(step|drift|mode|noise)$/,
  certainty: /^(provisional|settled)$/,
  condition: /^(present|recovered|fixed|gone)$/,
} as const;

type Field = keyof typeof FIELDS;

export type FilterFields = Pick<ListFilter, "filter"> &
  Partial<Record<Exclude<Field, "sigma">, string>> & { minimum_sigma?: number };

/** What people see of the words that they can use. */
export const FILTER_HINT =
  "Words of the commit, its author or the trace, name=value of a param, and alert: assignee: ticket: since: until: sigma: kind: certainty: condition:";

/**
 * Split a filter into its fields and its free words. A value with spaces is quoted: `assignee:"Ada Lovelace"`. In quotes, a
 * backslash stands before a quote or a backslash of the value.
 *
 * A word that names no field, or has a value that the field does not take, is a free word: names of benchmarks have colons.
 */
export function parseTriageFilter(text: string): FilterFields {
  const fields: Partial<Record<Field, string>> = {};
  const words: string[] = [];
  for (const [word] of text.matchAll(/[a-z]+:"(?:\\.|[^"\\])*"|\S+/g)) {
    const [, name = "", quoted, plain = ""] = /^([a-z]+):(?:"((?:\\.|[^"\\])+)"|"?([^"]+)"?)$/.exec(word) ?? [];
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
    if (isField(name) && (FIELDS[name]?.test(value) ?? true)) fields[name] = value;
    else words.push(word);
  }
  const { sigma, ...named } = fields;
  return { ...named, ...(sigma ? { minimum_sigma: Number(sigma) } : {}), filter: words.join(" ") };
}

function isField(name: string): name is Field {
  return Object.hasOwn(FIELDS, name);
}
