/** The values of plotted lines as CSV, a row each: the columns of `GET /api/v1/points`. */

import { lowerBound } from "./numbers";
import type { Commit, Trace } from "../api/client";

interface Line {
  trace: Trace | undefined;
  formula: string;
  title: string;
  unit: string;
  positions: Float64Array;
  values: Float64Array;
}

const COLUMNS = ["unit", "pos", "commit", "commit_time", "author", "value"];

/** The positions of lines that are in a range of positions, each once. */
export function positionsIn(lines: readonly Line[], first: number, last: number): Set<number> {
  return new Set(lines.flatMap(({ positions }) => [...positions].filter((at) => at >= first && at <= last)));
}

/** A column for each param, `param_NAME` where it has the name of another column; a formula has its text and its result. */
export function pointsCsv(
  lines: readonly Line[],
  commits: ReadonlyMap<number, Commit>,
  first: number,
  last: number,
): string {
  const params = [...new Set(lines.flatMap(({ trace }) => Object.keys(trace?.params ?? {})))].sort();
  const calculated = lines.some(({ formula }) => formula) ? ["formula", "result"] : [];
  const columns = [...calculated, ...COLUMNS];
  const rows = [[...params.map((name) => (columns.includes(name) ? `param_${name}` : name)), ...columns]];
  for (const { trace, formula, title, unit, positions, values } of lines) {
    const head = params.map((name) => trace?.params[name] ?? "");
    if (calculated.length > 0) head.push(formula, trace ? "" : title);
    for (let index = lowerBound(positions, first); index < lowerBound(positions, last + 1); index++) {
      const position = positions[index] ?? 0;
      const { hash = "", time = "", author = "" } = commits.get(position) ?? {};
      rows.push([...head, unit, String(position), hash, time ?? "", author, String(values[index])]);
    }
  }
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
