/** Parse and edit a query: `os=Android|iOS config=gpu -name=x name~regex name=* !name word`. */

import type { Facets } from "../api/client";
import { split, unquote } from "../api/query-words";

/** What a term asks of a param; "" for terms of other kinds: words, `name=*`, `!name`. */
export type Operator = "=" | "!=" | "~" | "!~";

interface Term {
  /** The term as it was typed. */
  text: string;
  name: string;
  operator: Operator | "";
  /** The values of `name=value|value`, or the one pattern of `name~pattern`, as they were typed. */
  operands: string[];
}

/** Quote a name or a value that would otherwise not parse as one word. */
export function quote(text: string): string {
  return /^[^\s"=|~!*&-][^\s"=|~!*&]*$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** The query that selects traces with these params. */
export function traceQuery(params: Record<string, string>): string {
  return Object.entries(params)
    .map(([name, value]) => (value ? `${quote(name)}=${quote(value)}` : `!${quote(name)}`))
    .join(" ");
}

const TERM = /^(-?)("(?:[^"\\]|\\.)*"|[^\s"=~!-][^\s"=~!]*)(!?[=~])(.+)$/s;
const NEGATED: Record<string, Operator | ""> = { "=": "!=", "~": "!~" };

function parseTerms(query: string): Term[] {
  return split(query, (character) => /\s/.test(character)).map((text) => {
    const [, minus, name = "", sign = "", rest = ""] = TERM.exec(text) ?? [];
    const operator = minus ? (NEGATED[sign] ?? "") : (sign as Operator | "");
    if (rest === "" || rest === "*" || operator === "") return { text, name: "", operator: "", operands: [] };
    const operands = sign.endsWith("~") ? [rest] : split(rest, (character) => character === "|");
    return { text, name: unquote(name), operator, operands };
  });
}

/** Whether a value that was typed stands for all that it matches, as `json*` does. */
function isGlob(text: string): boolean {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").includes("*");
}

function operandsOf(query: string, name: string, operator: Operator): string[] {
  return parseTerms(query).flatMap((term) => (term.name === name && term.operator === operator ? term.operands : []));
}

/** The values that a query selects of a param by `name=value|value`, or leaves out by `name!=value|value`. */
export function selectedValues(query: string, name: string, operator: "=" | "!=" = "="): string[] {
  return operandsOf(query, name, operator)
    .filter((text) => !isGlob(text))
    .map(unquote);
}

/** The regular expression that a query asks of a param by `name~pattern`, or refuses by `name!~pattern`; the first of several. */
export function patternOf(query: string, name: string, operator: "~" | "!~"): string {
  return unquote(operandsOf(query, name, operator)[0] ?? "");
}

/** The most texts that a query is completed to. */
const MOST_COMPLETIONS = 20;

/** A query that ends in a name, or in a name, an operator and a value. */
const UNFINISHED = /^((?:.*\s)?-?)([^\s"=~!]*)(?:(!?=(?:[^\s"]*\|)?)([^\s"|]*))?$/s;

/** What a query may go on as: with the names of params, or with the values of one, as whole queries. */
export function completions(query: string, facets: Facets["facets"]): string[] {
  const [, before = "", name = "", operator, typed = ""] = UNFINISHED.exec(query) ?? [query, query, "\0"];
  const texts =
    operator === undefined
      ? facets.filter((facet) => facet.name.startsWith(name)).map((facet) => `${before}${quote(facet.name)}=`)
      : (facets.find((facet) => facet.name === name)?.values ?? [])
          .filter(({ value }) => value.startsWith(typed) && value !== typed)
          .map(({ value }) => before + name + operator + quote(value));
  return texts.slice(0, MOST_COMPLETIONS);
}

/** The query with one value of a param added, or removed if it is there. Other terms stay as they were typed. */
export function toggleValue(query: string, name: string, value: string, operator: "=" | "!=" = "="): string {
  const before = operandsOf(query, name, operator);
  const others = before.filter((text) => isGlob(text) || unquote(text) !== value);
  return withOperands(query, name, operator, others.length < before.length ? others : [...before, quote(value)]);
}

/** The query with a value selected, left out, or neither: whichever it was not. */
export function chooseValue(query: string, name: string, value: string, operator: "=" | "!="): string {
  const other = operator === "=" ? "!=" : "=";
  const without = selectedValues(query, name, other).includes(value) ? toggleValue(query, name, value, other) : query;
  return toggleValue(without, name, value, operator);
}

/** The query with one regular expression for a param, or without any if it is empty. */
export function withPattern(query: string, name: string, operator: "~" | "!~", pattern: string): string {
  return withOperands(query, name, operator, pattern === "" ? [] : [quote(pattern)]);
}

/** The query with one term of a param and an operator, in the place of the first that it had. */
function withOperands(query: string, name: string, operator: Operator, operands: readonly string[]): string {
  const text = operands.length > 0 ? `${quote(name)}${operator}${operands.join("|")}` : "";
  const terms = parseTerms(query);
  const isEdited = (term: Term): boolean => term.name === name && term.operator === operator;
  const first = terms.findIndex(isEdited);
  const texts = terms.map((term, index) => (index === first ? text : isEdited(term) ? "" : term.text));
  return [...texts, ...(first < 0 ? [text] : [])].filter((term) => term !== "").join(" ");
}
