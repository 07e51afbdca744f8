import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** Linear RGB as people with a colour deficiency see it: Machado, Oliveira and Fernandes (2009), severity 1. */
const SIGHT: Record<string, readonly (readonly number[])[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** The least distance of two colours in OKLab: about six just noticeable differences. */
const LEAST_DISTANCE = 0.12;
/** The most chroma in OKLab of a colour that is calm beside text; pure red has 0.26. */
const MOST_CHROMA = 0.16;
/** Contrast of graphics to their ground, by WCAG 2.1, 1.4.11. */
const LEAST_CONTRAST = 3;

const dot = (row: readonly number[], rgb: readonly number[]): number =>
  row.reduce((sum, factor, index) => sum + factor * (rgb[index] ?? 0), 0);

function linear(colour: string): number[] {
  return [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
}

function oklab(rgb: readonly number[]): number[] {
  const cones = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
  ].map((row) => Math.cbrt(dot(row, rgb)));
  return [
    [0.2104542553, 0.793617785, -0.0040720468],
    [1.9779984951, -2.428592205, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.808675766],
  ].map((row) => dot(row, cones));
}

const luminance = (rgb: readonly number[]): number => dot([0.2126, 0.7152, 0.0722], rgb);

async function colours(name: string): Promise<[light: string, dark: string][]> {
  const text = await readFile(new URL("../src/styles/tokens.css", import.meta.url), "utf8");
  const pattern = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`, "g");
  return [...text.matchAll(pattern)].map(([, light = "", dark = ""]) => [light, dark]);
}

test.each([0, 1])(
  "the colours of lines are calm, apart for everybody, and stand out from the paper, in theme %d",
  async (theme) => {
    const series = (await colours("series-\\d")).map((pair) => linear(pair[theme] ?? ""));
    const paper = luminance(linear((await colours("paper"))[0]?.[theme] ?? ""));
    expect(series).toHaveLength(8);
    for (const colour of series) {
      const [dim = 0, bright = 0] = [luminance(colour), paper].sort((a, b) => a - b);
      const [, greenRed = 0, blueYellow = 0] = oklab(colour);
      expect(Math.hypot(greenRed, blueYellow)).toBeLessThan(MOST_CHROMA);
      expect((bright + 0.05) / (dim + 0.05)).toBeGreaterThanOrEqual(LEAST_CONTRAST);
    }
    for (const rows of Object.values(SIGHT)) {
      const seen = series.map((colour) => oklab(rows.map((row) => Math.min(1, Math.max(0, dot(row, colour))))));
      const distances = seen.flatMap((one, index) =>
        seen.slice(index + 1).map((other) => Math.hypot(...one.map((part, at) => part - (other[at] ?? 0)))),
      );
      expect(Math.min(...distances)).toBeGreaterThan(LEAST_DISTANCE);
    }
  },
);
