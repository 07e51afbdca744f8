import { expect, test } from "vitest";
import { explore, readAddress, triage, writeAddress, type Address } from "../src/state/address";

const read = (text: string): Address => readAddress(new URL(text, "http://here"));

const ADDRESSES: readonly Address[] = [
  triage,
  { ...triage, tab: "processed", repository: "owner/project", filter: "a&b = c", direction: "regression", sort: "date", page: 3, open: ["c1", "c2"], at: "17" },
  { ...triage, tab: "gone" },
  { view: "trace", id: 12, line: "feature/x", first: 3, last: 40, scale: "log", commit: 0 },
  { view: "trace", id: 1, line: "", first: undefined, last: undefined, scale: "auto", commit: undefined },
  { ...explore, repository: "r", query: 'os="a b"|c', traces: [1, 2], first: 0, last: 9, scale: "ratio" },
  { ...explore, formulas: ['ave(filter("a=b"))', "2 * 3"] },
  { ...explore, keys: "abcdefghijkl" },
  { view: "unknown", path: "/nowhere" },
];

test.each(ADDRESSES.map((address) => [writeAddress(address), address] as const))("%s reads back as it was written", (text, address) => {
  expect(read(text)).toEqual(address);
});

test("what is at its default is not in the address", () => {
  expect(writeAddress(triage)).toBe("/triage");
  expect(writeAddress(explore)).toBe("/explore");
});

test("the root is triage", () => {
  expect(read("/")).toEqual(triage);
});

test("nonsense in an address falls back to the defaults", () => {
  expect(read("/triage?page=-1&sort=")).toEqual(triage);
  expect(read("/trace/5?first=x&y=cubic")).toEqual({ view: "trace", id: 5, line: "", first: undefined, last: undefined, scale: "auto", commit: undefined });
  expect(read("/trace/abc")).toEqual({ view: "unknown", path: "/trace/abc" });
});
