import { describe, expect, it } from "vitest";
import type { BisectionDetail, Probe } from "../src/api/client";
import { leftRange, leftText, replayedProbes } from "../src/text/replay";
import { probe } from "./probes";

function searched(...probe_list: Probe[]) {
  const candidates = [0, 1, 2, 3, 4].map((place) => ({ commit: { short: `${place}`.repeat(10) }, probability: null }));
  return { candidates, probe_list } as unknown as BisectionDetail;
}

describe("the replay of a bisection", () => {
  it("takes the results in the order in which they came, and leaves out probes that were lost", () => {
    const slow = probe(1, 0, { seconds: 9 });
    const lost = probe(2, 4, { outcome: "lost" });
    expect(replayedProbes(searched(slow, lost, probe(3, 2))).map(({ number }) => number)).toEqual([3, 1]);
  });

  it("begins with all commits", () => {
    expect(leftText(undefined, searched())).toBe("4 commits left");
    expect(leftRange(undefined, searched())).toEqual([0, 4]);
  });

  it("tells which commits were left after a result, and how far they reach", () => {
    const known = probe(1, 2, { known: { left: [3, 4], probability: 0.62 } });
    expect(leftText(known, searched())).toBe("2 of 4 commits left, 3333333333 62 %");
    expect(leftRange(known, searched())).toEqual([2, 4]);
  });

  it("tells that no commit made the change", () => {
    const known = probe(1, 2, { known: { left: [], probability: 0.98 } });
    expect(leftText(known, searched())).toBe("no change with 98 %");
    expect(leftRange(known, searched())).toBeUndefined();
  });

  it("tells nothing of a result after which nothing was kept", () => {
    expect(leftText(probe(1, 2), searched())).toBe("");
    expect(leftRange(probe(1, 2), searched())).toBeUndefined();
  });
});
