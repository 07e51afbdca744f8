/** Select published traces by a query, and count their params, as the server does. */

import { split, unquote } from "../text/query";
import { ApiError, type Facets, type Trace } from "./client";

export type { Facets };

interface Term {
  name: string;
  accepts: (value: string | undefined) => boolean;
}

const TERM = /^(!?)("(?:[^"\\]|\\.)*"|[^\s"=~!]+)(?:(!=|!~|=|~)(.+))?$/s;

function alternatives(text: string): string[] {
  return split(text, (character) => character === "|").map(unquote);
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(unquote(text));
  } catch {
    throw new ApiError("A regular expression cannot be read.", text, "Correct it.", 422);
  }
}

function parseTerm(text: string): Term {
  const [, negated, quoted = "", operator, wanted = ""] = TERM.exec(text) ?? [];
  const name = unquote(quoted);
  if (name && negated && !operator) return { name, accepts: (value) => value === undefined };
  if (name && !negated) {
    switch (operator) {
      case "=": {
        if (wanted === "*") return { name, accepts: (value) => value !== undefined };
        const values = alternatives(wanted);
        return { name, accepts: (value) => value !== undefined && values.includes(value) };
      }
      case "!=": {
        const values = alternatives(wanted);
        return { name, accepts: (value) => value === undefined || !values.includes(value) };
      }
      case "~": {
        const expression = pattern(wanted);
        return { name, accepts: (value) => value !== undefined && expression.test(value) };
      }
      case "!~": {
        const expression = pattern(wanted);
        return { name, accepts: (value) => value === undefined || !expression.test(value) };
      }
    }
  }
  const remedy = "Published pages know name=value|value, name!=value, name~pattern, name!~pattern, name=* and !name.";
  throw new ApiError(`The term ${text} cannot be read.`, "query", remedy, 422);
}

function parse(query: string): Term[] {
  return split(query, (character) => /\s/.test(character)).map(parseTerm);
}

function select(traces: readonly Trace[], terms: readonly Term[]): Trace[] {
  return traces.filter(({ params }) => terms.every(({ name, accepts }) => accepts(params[name])));
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
