/** Select published traces by a query, and count their params, as the server does. */

import { split, unquote } from "./query-words";
import { ApiError, type Facets, type Trace } from "./objects";

export type { Facets };

type Params = Trace["params"];

interface Term {
  /** The param that it is about; "" for a free word. */
  name: string;
  accepts: (params: Params) => boolean;
}

const TERM = /^(-?)(!?)("(?:[^"\\]|\\.)*"|[^\s"=~!|&*]+)(?:(!?[=~])(.+))?$/s;

function pattern(text: string): RegExp {
  try {
    return new RegExp(unquote(text));
  } catch {
    throw new ApiError("A regular expression cannot be read.", text, "Correct it.", 422);
  }
}

/** Whether a value meets what follows the name of a param. */
function valueTest(operator: string, wanted: string): (value: string) => boolean {
  if (operator.endsWith("~")) {
    const expression = pattern(wanted);
    return (value) => expression.test(value);
  }
  const choices = split(wanted, (character) => character === "|").map(choice);
  return (value) => choices.some((expression) => expression.test(value));
}

/** What a value has to be; an asterisk outside of quotes stands for any text. */
function choice(text: string): RegExp {
  const escape = (part: string): string => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const parts = text
    .split(/("(?:[^"\\]|\\.)*")/s)
    .map((part) => (part.startsWith('"') ? escape(unquote(part)) : part.split("*").map(escape).join(".*")));
  return new RegExp(`^${parts.join("")}$`, "s");
}

function parseTerm(text: string): Term {
  const [, minus, absent, quoted = "", operator, wanted = ""] = TERM.exec(text) ?? [];
  const name = unquote(quoted);
  const signs = [minus, absent, operator?.startsWith("!")].filter(Boolean).length;
  if (!name || signs > 1 || (absent && operator)) {
    const remedy =
      "Published pages know words, name=value|value, name=*part*, name~pattern, !name, and a minus sign before them.";
    throw new ApiError(`The term ${text} cannot be read.`, "query", remedy, 422);
  }
  if (absent) return { name, accepts: (params) => !(name in params) };
  if (operator) {
    const test = valueTest(operator, wanted);
    return { name, accepts: ({ [name]: value }) => (value !== undefined && test(value)) !== signs > 0 };
  }
  const word = name.toLowerCase();
  const isFound = (params: Params): boolean =>
    Object.values(params).some((value) => value.toLowerCase().includes(word));
  return { name: "", accepts: (params) => isFound(params) !== signs > 0 };
}

function parse(query: string): Term[] {
  return split(query, (character) => /\s/.test(character)).map(parseTerm);
}

function select(traces: readonly Trace[], terms: readonly Term[]): Trace[] {
  return traces.filter(({ params }) => terms.every(({ accepts }) => accepts(params)));
}

/** The traces that a query matches. */
export function selectTraces(traces: readonly Trace[], query: string): Trace[] {
  return select(traces, parse(query));
}

/** The params of the matching traces. Those of a term are counted without it, so that people see the alternatives. */
export function facetsOf(traces: readonly Trace[], query: string): Facets {
  const terms = parse(query);
  const matching = select(traces, terms);
  const names = new Set([...matching.flatMap(({ params }) => Object.keys(params)), ...terms.map(({ name }) => name)]);
  const facets = [...names].sort().flatMap((name) => {
    const others = terms.filter((term) => term.name !== name);
    const counts = new Map<string, number>();
    for (const { params } of others.length === terms.length ? matching : select(traces, others)) {
      const value = params[name];
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].map(([value, count]) => ({ value, count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    return values.length > 0 ? [{ name, distinct: values.length, values: values.slice(0, 200) }] : [];
  });
  return { total: matching.length, facets };
}
