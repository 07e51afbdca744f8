/** The words of a query: split outside of quotes, and what a quoted one stands for. */

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
