import { expect, test } from "vitest";
import { formulaOf, type FormulaChoice } from "../src/text/formula-parts";

const plain: FormulaChoice = {
  query: "os=linux",
  preparation: "",
  combination: "",
  by: "",
  comparison: "",
  other: "",
  transformation: "",
};

test.each([
  [{}, 'filter("os=linux")'],
  [{ combination: "geo" }, 'geo(filter("os=linux"))'],
  [{ combination: "ave", by: "test" }, 'ave(filter("os=linux"), "test")'],
  [{ preparation: "fill", transformation: "norm" }, 'norm(fill(filter("os=linux")))'],
  [
    { combination: "sum", comparison: "/", other: "os=mac", by: "test" },
    'sum(filter("os=linux"), "test") / sum(filter("os=mac"), "test")',
  ],
  [{ query: String.raw`name="a b" path~\d` }, String.raw`filter("name=\"a b\" path~\\d")`],
])("the choice %j is written as %s", (part, formula) => {
  expect(formulaOf({ ...plain, ...part })).toBe(formula);
});
