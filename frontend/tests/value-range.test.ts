import { expect, test } from "vitest";
import { grouped } from "../src/charts/beyond";
import { NO_PATTERNS, type ChartLine, type ChartView } from "../src/charts/chart-data";
import { gapDistance, widenGaps, withGaps } from "../src/charts/gaps";
import { positionAxis } from "../src/charts/position-axis";
import { mainRange, valueRange } from "../src/charts/value-range";

const wave = Array.from({ length: 100 }, (_, index) => 10 + (index % 5));

function viewOf(lines: readonly ChartLine[], part: Partial<ChartView> = {}): ChartView {
  return {
    lines,
    levels: [],
    patterns: NO_PATTERNS,
    marks: [],
    findings: [],
    notes: [],
    candidates: [],
    failures: [],
    quarantined: [],
    remeasured: [],
    tickets: [],
    times: new Float64Array(),
    total: 100,
    range: undefined,
    scale: "auto",
    along: "commits",
    pinned: undefined,
    cursorGroup: "",
    ...part,
  };
}

function lineOf(values: readonly number[]): ChartLine {
  const positions = Float64Array.from(values, (_, index) => index);
  return { id: 1, label: "", unit: "ns", positions, values: Float64Array.from(values) };
}

test("one value far from all others lies beyond the range", () => {
  expect(mainRange(Float64Array.from([...wave, 900]))).toEqual({ low: 10, high: 14 });
});

test("the range is that of the sorted numbers, whatever their order", () => {
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (const length of [20, 49, 50, 149, 150, 250, 2400]) {
    const numbers = Float64Array.from({ length }, () => (random() - 0.5) ** 9);
    const sorted = numbers.toSorted();
    const trimmed = Math.max(1, Math.round(length * 0.01));
    const [low, high] = [sorted[trimmed] ?? 0, sorted[length - 1 - trimmed] ?? 0];
    const [least, greatest] = [sorted[0] ?? 0, sorted[length - 1] ?? 0];
    expect(mainRange(numbers)).toEqual({
      low: low - least > 2 * (high - low) ? low : least,
      high: greatest - high > 2 * (high - low) ? high : greatest,
    });
  }
});

test("a level that holds for a while is inside the range", () => {
  expect(mainRange(Float64Array.from([...wave, ...Array<number>(10).fill(900)])).high).toBe(900);
});

test.each([[[3, 900]], [[...Array<number>(50).fill(7), 9]]])("nothing is left out of %j", (values) => {
  expect(mainRange(Float64Array.from(values)).high).toBe(values.at(-1));
});

test("values outside of the zoomed range do not count", () => {
  const line = lineOf([...wave.slice(0, 50), ...wave.slice(0, 50).map((value) => value * 100)]);
  const [low, high] = valueRange(viewOf([line], { range: { first: 0, last: 40 } }), [line], false);
  expect([low, high]).toEqual([9.6, 14.4]);
});

test("values beyond the range are counted where they are near each other", () => {
  expect(grouped([50, 3, 8], true)).toEqual([
    { x: 5.5, above: true, count: 2 },
    { x: 50, above: true, count: 1 },
  ]);
});

test("a line has a gap where its own rhythm stops", () => {
  expect(gapDistance([0, 10, 20, 30])).toBe(61);
  expect(withGaps([0, 1, 2, 20, 21], [5, 5, 5, 5, 5], 5)).toEqual([
    [0, 1, 2, 3, 20, 21],
    [1, 1, 1, null, 1, 1],
  ]);
});

test("values of other lines do not fill a gap", () => {
  const joint = [1, undefined, 1, null, undefined, undefined, 1];
  widenGaps(joint);
  expect(joint).toEqual([1, undefined, 1, null, null, null, 1]);
});

test("commits stand at their dates in the order of the line, though a date goes back", () => {
  const axis = positionAxis({ along: "dates", times: Float64Array.of(100, 300, 200, NaN, 400) });
  expect([0, 1, 2, 3, 4].map(axis.toX)).toEqual([100, 300, 300, 300, 400]);
  expect([axis.toX(0.5), axis.toPosition(200), axis.toPosition(1e9)]).toEqual([200, 0.5, 4]);
});
