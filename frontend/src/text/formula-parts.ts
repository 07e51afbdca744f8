/** Write a formula from what people choose in the menu: traces of a query, prepared, combined, compared, transformed. */

/** What a function makes of its traces, by its name in formulas; "" leaves them as they are. */
export const PREPARATIONS = [
  ["", "as they were measured"],
  ["fill", "with missing values filled"],
  ["iqrr", "without outliers"],
] as const;
export const COMBINATIONS = [
  ["", "each trace"],
  ["ave", "average"],
  ["sum", "sum"],
  ["geo", "geometric mean"],
  ["min", "least value"],
  ["max", "greatest value"],
  ["std", "standard deviation"],
  ["count", "number of values"],
] as const;
export const COMPARISONS = [
  ["", "not compared"],
  ["/", "divided by"],
  ["-", "minus"],
  ["+", "plus"],
] as const;
export const TRANSFORMATIONS = [
  ["", "as it is"],
  ["norm", "normalised, in standard deviations"],
  ["scale_by_ave", "divided by its own mean"],
  ["log", "as its logarithm"],
  ["trace_ave", "as its mean over all commits"],
  ["trace_stddev", "as its standard deviation over all commits"],
  ["step", "as the mean of its first half / its second half"],
] as const;

export interface FormulaChoice {
  query: string;
  preparation: string;
  combination: string;
  /** The param whose values are combined apart; "" to combine all traces into one. */
  by: string;
  comparison: string;
  /** The query of the other side of a comparison. */
  other: string;
  transformation: string;
}

/** A text in a formula. */
function text(content: string): string {
  return `"${content.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function call(name: string, ...parts: string[]): string {
  return name === "" ? (parts[0] ?? "") : `${name}(${parts.join(", ")})`;
}

export function formulaOf(choice: FormulaChoice): string {
  const { preparation, combination, by, comparison, transformation } = choice;
  const sideOf = (query: string): string =>
    call(combination, call(preparation, `filter(${text(query)})`), ...(by === "" ? [] : [text(by)]));
  const sides = comparison === "" ? [choice.query] : [choice.query, choice.other];
  return call(transformation, sides.map(sideOf).join(` ${comparison} `));
}
