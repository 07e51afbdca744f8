/** Read and change the text form of a query: `os=Android|iOS config=gpu name!=x name~regex name=* !name`. */

interface Term {
  text: string;
  name: string;
  values: string[] | undefined;
}

/** Quote a name or a value where it would not read as one word. */
export function quote(text: string): string {
  return /^[^\s"=|~!*&]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function unquote(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length > 1
    ? text.slice(1, -1).replace(/\\(.)/g, "$1")
    : text;
}

function split(text: string, at: (character: string) => boolean): string[] {
  const parts = [""];
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === "\\" && quoted) {
      parts.push((parts.pop() ?? "") + character + text.charAt(++index));
    } else if (!quoted && at(character)) {
      parts.push("");
    } else {
      if (character === '"') quoted = !quoted;
      parts.push((parts.pop() ?? "") + character);
    }
  }
  return parts.filter((part) => part !== "");
}

function terms(query: string): Term[] {
  return split(query, (character) => /\s/.test(character)).map((text) => {
    const found = /^("(?:[^"\\]|\\.)*"|[^\s"=~!]+)=(.+)$/s.exec(text);
    const values =
      found?.[2] === undefined || found[2] === "*"
        ? undefined
        : split(found[2], (character) => character === "|").map(unquote);
    return { text, name: unquote(found?.[1] ?? ""), values };
  });
}

/** The values that a query asks of a param by `name=value|value`. */
export function wanted(query: string, name: string): string[] {
  return terms(query).find((term) => term.name === name && term.values)?.values ?? [];
}

/** The query with one value of a param added, or taken out where it was in. */
export function toggleValue(query: string, name: string, value: string): string {
  const all = terms(query);
  const own = all.find((term) => term.name === name && term.values);
  const before = own?.values ?? [];
  const after = before.includes(value) ? before.filter((other) => other !== value) : [...before, value];
  const text = after.length > 0 ? `${quote(name)}=${after.map(quote).join("|")}` : "";
  const kept = own ? all.map((term) => (term === own ? text : term.text)) : [...all.map((term) => term.text), text];
  return kept.filter((part) => part !== "").join(" ");
}
