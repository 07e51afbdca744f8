import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/** What a module imports, types included; modules that it loads on demand are left out. */
function importsOf(name: string): string[] {
  const { statements } = ts.createSourceFile(name, readFileSync(join(SOURCE, name), "utf8"), ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    const from =
      ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) ? statement.moduleSpecifier : undefined;
    if (!from || !ts.isStringLiteral(from) || !from.text.startsWith(".")) return [];
    return `${join(dirname(name), from.text)}.ts`;
  });
}

/** The first circle that is found: its modules in the order of their imports. */
function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): string[] => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return [];
    for (const next of imports.get(name) ?? []) {
      const circle = visit(next, [...path, name]);
      if (circle.length > 0) return circle;
    }
    done.add(name);
    return [];
  };
  for (const name of imports.keys()) {
    const circle = visit(name, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

test("modules import each other one way only", () => {
  const modules = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const imports = new Map(modules.map((name) => [name, importsOf(name)]));
  const known = [...imports.values()].flat().filter((name) => imports.has(name));
  expect(known.length).toBeGreaterThan(imports.size); // the names were resolved
  expect(findCircle(imports)).toEqual([]);
});

test("a circle is found and named", () => {
  const imports = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["b.ts"]],
  ]);
  expect(findCircle(imports)).toEqual(["b.ts", "c.ts", "b.ts"]);
});
