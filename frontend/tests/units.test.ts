import { expect, test } from "vitest";
import { axisTexts, flippingText, levelsText, scaleFor, unitText, valueText } from "../src/text/units";

const plain = (text: string): string => text.replaceAll("\u00a0", " ");

test.each([
  [143_234, "ns/iter", "143.2 µs/iter"],
  [0.0021, "s", "2.1 ms"],
  [12, "ms", "12 ms"],
  [2_500_000, "B", "2.5 MB"],
  [1_234.5, "ops/s", "1.235 kops/s"],
  [12, "ops/s", "12 ops/s"],
  [4_200_000, "req/sec", "4.2 Mreq/sec"],
  [2_500, "kops/s", "2.5 Mops/s"],
  [3_500, "widgets/s", "3,500 widgets/s"],
  [2_500, "ops", "2,500 ops"],
  [3_200_000, "bytes", "3.2 MB"],
  [3_072, "KiB", "3 MiB"],
  [3.2e9, "Hz", "3.2 GHz"],
  [3, "", "3"],
  [0, "ns", "0 ns"],
  [-15, "ms", "−15 ms"],
])("%d %s reads %s", (value, unit, text) => {
  expect(plain(valueText(value, unit))).toBe(text);
});

test.each([
  ["us", "µs"],
  ["nanoseconds/iter", "ns/iter"],
  ["widgets", "widgets"],
  ["", ""],
])("the unit %s is written %s", (unit, text) => {
  expect(unitText(unit)).toBe(text);
});

test("a rate keeps its unit, however large", () => {
  expect(scaleFor(5e6, "s/s")).toEqual({ divisor: 1, unit: "s/s" });
});

test("near levels share a scale, levels far apart do not", () => {
  expect(plain(levelsText(900, 1200, "ns"))).toBe("0.9 µs → 1.2 µs");
  expect(plain(levelsText(9.763e-7, 1.959e-6, "ps"))).toBe("9.763e-7 ps → 1.959e-6 ps");
  expect(plain(levelsText(34_350, 41_000_000, "ns"))).toBe("34.35 µs → 41 ms");
});

test("an axis has one scale, unless it spans many", () => {
  const ticks = [1e4, null, 1e6];
  expect(axisTexts(ticks, "ns", false).map(plain)).toEqual(["0.01 ms", "", "1 ms"]);
  expect(axisTexts(ticks, "ns", true).map(plain)).toEqual(["10 µs", "", "1 ms"]);
});

test("ticks that are near each other have as many digits as tell them apart", () => {
  expect(axisTexts([1.0001, 1.00015, null, 1.0002], "ms", false).map(plain)).toEqual([
    "1.0001 ms",
    "1.00015 ms",
    "",
    "1.0002 ms",
  ]);
  expect(axisTexts([1e300, 1e300], "", false)).toEqual(["1.000e+300", "1.000e+300"]);
});

test("a unit that is a sentence is cut short", () => {
  expect(plain(valueText(1, "x".repeat(400)))).toBe(`1 ${"x".repeat(23)}…`);
});

test("a trace that flips names its levels in one scale, with their shares", () => {
  expect(plain(flippingText([10_200_000, 10_700_000], [0.62, 0.38], "ns"))).toBe(
    "flips between 2 levels: 10.2 ms (62 % of the time) and 10.7 ms (38 %)",
  );
});
