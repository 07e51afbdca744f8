import { describe, expect, it } from "vitest";
import type { BisectionDetail, Probe } from "../src/api/client";
import {
  centre,
  devicesOf,
  durationText,
  hasEnded,
  probeDots,
  stateText,
  summaryText,
  valueMarks,
} from "../src/text/bisections";
import { probe } from "./probes";

function found(part: Partial<BisectionDetail>): BisectionDetail {
  return {
    state: "running",
    stopping: false,
    probes: 3,
    queue: 0,
    reason: "",
    culprits: [],
    probability: 0,
    seconds_left: null,
    candidates: [{}, {}, {}, {}],
    probe_list: [],
    ...part,
  } as BisectionDetail;
}

describe("a bisection in words", () => {
  it("says how many go first while it waits", () => {
    expect(summaryText(found({ state: "waiting", queue: 2 }))).toBe("2 bisections go first.");
    expect(summaryText(found({ state: "waiting" }))).toBe("It begins as soon as a worker is free.");
  });

  it("says how far it is while it runs", () => {
    expect(summaryText(found({ seconds_left: 600 }))).toBe("3 probes done, about 10 min left.");
  });

  it("names the commit and its probability", () => {
    const commit = { short: "1a2b3c4" } as BisectionDetail["culprits"][number];
    expect(summaryText(found({ state: "culprit", culprits: [commit], probability: 0.97 }))).toBe(
      "1a2b3c4 made the change, with a probability of 97 %.",
    );
  });

  it("gives the reason for which it ended as a sentence", () => {
    expect(summaryText(found({ state: "gave up", reason: "the budget of 3 probes is spent" }))).toBe(
      "The budget of 3 probes is spent.",
    );
    expect(summaryText(found({ state: "stopped", reason: "root stopped it." }))).toBe("root stopped it.");
  });

  it("is stopping until its worker has ended it", () => {
    expect(stateText({ state: "running", stopping: true, culprits: [] })).toBe("Stopping");
    expect([hasEnded({ state: "running" }), hasEnded({ state: "gave up" })]).toEqual([false, true]);
  });

  it("has durations in the unit that fits", () => {
    expect([40, 720, 12_600].map(durationText)).toEqual(["40 s", "12 min", "3.5 h"]);
  });
});

describe("the plot of the probes", () => {
  it("places the highest value above the lowest, and skipped ones at the bottom", () => {
    const dots = probeDots(
      found({
        probe_list: [probe(1, 0), probe(2, 3, { value: 130 }), probe(3, 1, { value: null, outcome: "skipped" })],
      }),
    );
    expect(dots.map((dot) => dot.valueless)).toEqual([false, false, true]);
    const [low, high, skipped] = dots.map((dot) => dot.y) as [number, number, number];
    expect(high).toBeLessThan(low);
    expect(skipped).toBeGreaterThan(low);
    expect(dots.map((dot) => dot.x)).toEqual([centre(0, 4), centre(3, 4), centre(1, 4)]);
  });

  it("leaves out what is under way or lost", () => {
    const list = [probe(1, 0, { outcome: null, value: null }), probe(2, 1, { outcome: "lost", value: null })];
    expect(probeDots(found({ probe_list: list }))).toEqual([]);
  });

  it("counts devices in the order of their names", () => {
    const list = [probe(1, 0, { device: "zeta" }), probe(2, 1, { device: "alpha" })];
    expect(devicesOf(found({ probe_list: list }))).toEqual(["alpha", "zeta"]);
    expect(probeDots(found({ probe_list: list })).map((dot) => dot.device)).toEqual([1, 0]);
  });
});

describe("the scale beside the probes", () => {
  const marks = (...parts: Partial<Probe>[]) =>
    valueMarks(probeDots(found({ probe_list: parts.map((part, place) => probe(place + 1, place, part)) })));

  it("names the lowest and the highest value", () => {
    expect(marks({ value: 130 }, { value: 100 }, { value: 120 }).map(({ value }) => value)).toEqual([100, 130]);
  });

  it("names equal values once, and nothing where probes pass or fail", () => {
    expect(marks({ value: 7 }, { value: 7 })).toHaveLength(1);
    expect(marks({ outcome: "passed", value: null }, { outcome: "failed", value: null })).toEqual([]);
  });
});
