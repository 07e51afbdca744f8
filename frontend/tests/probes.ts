import type { Probe } from "../src/api/client";

/** A probe that measured 100 within a second; each began a second after the one before. */
export function probe(number: number, place: number, part: Partial<Probe> = {}): Probe {
  return {
    number,
    place,
    device: "pixel",
    purpose: "search",
    outcome: "measured",
    value: 100,
    samples: [],
    seconds: 1,
    started: `2026-01-01T00:00:0${number}Z`,
    reason: "",
    output: "",
    known: null,
    ...part,
  };
}
