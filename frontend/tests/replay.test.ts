import { describe, expect, it } from "vitest";
import type { BisectionDetail, Probe } from "../src/api/client";
import { leftText, replaySteps } from "../src/text/replay";
import { probe } from "./probes";

const HASHES = [0, 1, 2, 3, 4].map((place) => `${place}`.repeat(40));

function steps(probe_list: Probe[], culprits = [3], log: string[] = []) {
  const commits = HASHES.map((hash) => ({ hash, short: hash.slice(0, 10), subject: "" }));
  return replaySteps({
    candidates: commits.map((commit) => ({ commit, probability: null })),
    culprits: culprits.map((place) => commits[place]),
    probe_list,
    log: log.map((text) => ({ time: "2026-01-01T00:00:00Z", text })),
  } as unknown as BisectionDetail);
}

describe("the replay of a bisection", () => {
  it("begins with the whole range and shrinks it with each result", () => {
    const found = steps([probe(1, 0), probe(2, 4), probe(3, 2), probe(4, 3)]);
    expect(found.map(({ range }) => range)).toEqual([
      [0, 4],
      [0, 4],
      [0, 4],
      [2, 4],
      [2, 3],
    ]);
    expect(found.map(leftText).at(-1)).toBe("1 commit left");
  });

  it("takes the results in the order in which they came, and leaves out probes that were lost", () => {
    const slow = probe(1, 0, { seconds: 9 });
    const lost = probe(2, 4, { outcome: "lost" });
    expect(steps([slow, lost, probe(3, 2)]).map((step) => step.probe?.number)).toEqual([undefined, 3, 1]);
  });

  it("keeps the range where a commit cannot be measured, or none was found", () => {
    expect(steps([probe(1, 2, { outcome: "skipped" })]).at(-1)?.range).toEqual([0, 4]);
    expect(steps([probe(1, 2)], []).at(-1)?.range).toEqual([0, 4]);
  });

  it("covers all commits that were found where there are several", () => {
    expect(steps([probe(1, 1), probe(2, 2), probe(3, 4)], [2, 4]).at(-1)?.range).toEqual([1, 4]);
  });

  it("tells what the log says of each result, in order", () => {
    const log = [
      "Measures 2222222222 on pixel: the good end.",
      "2222222222 on pixel: 1.5 ms. Now 3 of 4 commits left, 3333333333 20 %.",
      "2222222222 on pixel: 1.6 ms. Now 1 of 4 commits left, 3333333333 99 %.",
    ];
    const found = steps([probe(1, 2), probe(2, 2), probe(3, 3)], [3], log);
    expect(found.map(leftText)).toEqual([
      "4 commits left",
      "3 of 4 commits left, 3333333333 20 %",
      "1 of 4 commits left, 3333333333 99 %",
      "1 commit left",
    ]);
  });
});
