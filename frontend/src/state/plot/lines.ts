/** The lines of a plot, and ranges of its positions. */

export interface ChartLine {
  id: number;
  label: string;
  unit: string;
  positions: Float64Array;
  values: Float64Array;
  /** The value that a relative scale shows as 100 %; the first one where there is none. */
  base?: number | undefined;
}

/** A range of positions, with both ends. */
export interface ChartRange {
  first: number;
  last: number;
}
