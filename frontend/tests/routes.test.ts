import { expect, test } from "vitest";
import { explore, readAddress, traceAt, triage, writeAddress, type Address } from "../src/routes/routes";

const read = (text: string): Address => readAddress(new URL(text, "http://here"));

const ADDRESSES: readonly Address[] = [
  triage,
  {
    ...triage,
    tab: "processed",
    repository: "owner/project",
    filter: "a&b = c",
    direction: "regression",
    status: "hidden",
    least: 5,
    sort: "date",
    page: 3,
    size: 200,
    open: ["c1", "c2"],
    at: "17",
  },
  { ...triage, tab: "history" },
  { ...triage, tab: "gone" },
  traceAt(12, { line: "feature/x", first: 3, last: 40, scale: "log", commit: 0, gone: true, why: true }),
  traceAt(1),
  { ...explore, repository: "r", query: 'os="a b"|c', traces: [1, 2], listed: 300, first: 0, last: 9, scale: "ratio" },
  { ...explore, formulas: ['ave(filter("a=b"))', "2 * 3"] },
  { ...explore, keys: "abcdefghijkl" },
  { view: "unknown", path: "/nowhere" },
];

test.each(ADDRESSES.map((address) => [writeAddress(address), address] as const))(
  "%s reads back as it was written",
  (text, address) => {
    expect(read(text)).toEqual(address);
  },
);

test("what is at its default is not in the address", () => {
  expect(writeAddress(triage)).toBe("/triage");
  expect(writeAddress(explore)).toBe("/explore");
});

test("the root is triage", () => {
  expect(read("/")).toEqual(triage);
});

test("nonsense in an address falls back to the defaults", () => {
  expect(read("/triage?page=-1&sort=&size=0&least=a")).toEqual(triage);
  expect(read("/triage?size=9000")).toEqual({ ...triage, size: 500 });
  expect(read("/trace/5?first=x&y=cubic&why=yes")).toEqual(traceAt(5));
  expect(read("/trace/abc")).toEqual({ view: "unknown", path: "/trace/abc" });
});
