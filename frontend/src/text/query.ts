/** Parse and edit a query: `os=Android|iOS config=gpu -name=x name~regex name=* !name word`. */

import type { Facets } from "../api/client";

interface Term {
  /** The term as it was typed. */
  text: string;
  name: string;
  /** The values of `name=value|value`; undefined for other kinds of terms. */
  values: string[] | undefined;
}

/** Quote a name or a value that would otherwise not parse as one word. */
export function quote(text: string): string {
  return /^[^\s"=|~!*&-][^\s"=|~!*&]*$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** The text that a quoted name or value stands for. */
export function unquote(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length > 1
    ? text.slice(1, -1).replace(/\\(.)/g, "$1")
    : text;
}

/** Split a text at separators outside of quotes. */
export function split(text: string, isSeparator: (character: string) => boolean): string[] {
  const parts = [""];
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === "\\" && quoted) {
      parts.push((parts.pop() ?? "") + character + text.charAt(++index));
    } else if (!quoted && isSeparator(character)) {
      parts.push("");
    } else {
      if (character === '"') quoted = !quoted;
      parts.push((parts.pop() ?? "") + character);
    }
  }
  return parts.filter((part) => part !== "");
}

function parseTerms(query: string): Term[] {
  return split(query, (character) => /\s/.test(character)).map((text) => {
    const found = /^("(?:[^"\\]|\\.)*"|[^\s"=~!]+)=(.+)$/s.exec(text);
    const values =
      found?.[2] === undefined || found[2] === "*"
        ? undefined
        : split(found[2], (character) => character === "|").map(unquote);
    return { text, name: unquote(found?.[1] ?? ""), values };
  });
}

/** The values that a query selects of a param by `name=value|value`. */
export function selectedValues(query: string, name: string): string[] {
  return parseTerms(query).find((term) => term.name === name && term.values)?.values ?? [];
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
export function toggleValue(query: string, name: string, value: string): string {
  const terms = parseTerms(query);
  const edited = terms.find((term) => term.name === name && term.values);
  const before = edited?.values ?? [];
  const after = before.includes(value) ? before.filter((other) => other !== value) : [...before, value];
  const text = after.length > 0 ? `${quote(name)}=${after.map(quote).join("|")}` : "";
  const texts = terms.map((term) => (term === edited ? text : term.text));
  return [...texts, ...(edited ? [] : [text])].filter((term) => term !== "").join(" ");
}
