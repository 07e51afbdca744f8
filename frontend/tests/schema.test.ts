import { readFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";
import { expect, test } from "vitest";

const here = (path: string): URL => new URL(path, import.meta.url);

test("the types agree with the description of the API; `make docs-write` and `npm run schema` write them anew", async () => {
  const made = astToString(await openapi(here("../../docs/reference/openapi.json")));
  const kept = await readFile(here("../src/api/schema.d.ts"), "utf8");
  expect(kept).toContain(made.trim());
});
