import { brotliCompressSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/**
 * Leave the indentation of templates out of the bundle, which is 2 % of it compressed.
 *
 * Minified code has no indented lines elsewhere; texts that need theirs get it from values.
 */
const withoutIndentation: Plugin = {
  name: "without-indentation",
  apply: "build",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") file.code = file.code.replaceAll(/\n {2,}/g, "\n");
    }
  },
};

/**
 * Leave out what of uPlot no chart uses: bars, steps and splines, axes of its own for times, its legend, two kinds of scales.
 *
 * Its package has one build with everything. Each expression has to match, so that another version of it is looked at.
 */
const UNUSED: readonly (readonly [RegExp, string])[] = [
  [/\(paths\.(?:stepped|bars|spline) += \w+\);/g, ""],
  [/uPlot\.(?:assign|fmtNum|rangeAsinh|orient|fmtDate|tzDate|addGap|clipGaps) += \w+;/g, ""],
  [/const _(?:tzDate|fmtDate|timeAxisSplits|timeAxisVals|timeSeriesVal) .*;/g, ""],
  [/const \[ timeIncrs\w+, .*;/g, ""],
  [/let isTime = .*;/g, "const isTime = false;"],
  [/\b(?:sc\.)?distr == (?:4|100)\b/g, "false"],
  [/const showLegend = .*;/g, "const showLegend = false;"],
  [/legend\.show && legend\.live/g, "false"],
];
const slimCharts: Plugin = {
  name: "slim-charts",
  apply: "build",
  transform: {
    filter: { id: /uPlot\.esm\.js$/ },
    handler(source) {
      const code = UNUSED.reduce((text, [unused, instead]) => {
        if (text.search(unused) < 0) this.error(`uPlot has nothing like ${unused} any more: see vite.config.ts`);
        return text.replaceAll(unused, instead);
      }, source);
      return { code, map: null };
    },
  },
};

/** Write which files the page of each view loads, so that the server can name them before the scripts ask for them. */
const filesOfViews: Plugin = {
  name: "files-of-views",
  apply: "build",
  generateBundle(_, bundle) {
    const files = Object.values(bundle);
    const chunks = files.filter((file) => file.type === "chunk");
    const withImports = (name: string): string[] => {
      const imports = chunks.find(({ fileName }) => fileName === name)?.imports ?? [];
      return [name, ...imports.flatMap(withImports)];
    };
    const entries = chunks.filter(({ isEntry }) => isEntry).flatMap(({ fileName }) => withImports(fileName));
    const styles = files.flatMap(({ fileName }) => (fileName.endsWith(".css") ? [fileName] : []));
    const views = chunks.flatMap(({ fileName, moduleIds }) =>
      moduleIds.flatMap((id) => {
        const view = /src\/views\/(\w+)\/view\.ts$/.exec(id)?.[1];
        return view === undefined ? [] : [[view, [...new Set([...entries, ...styles, ...withImports(fileName)])]]];
      }),
    );
    this.emitFile({ type: "asset", fileName: "views.json", source: JSON.stringify(Object.fromEntries(views)) });
  },
};

/** Add each module and style sheet as Brotli, with which the server answers browsers that accept it. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        if (!/\.(?:js|css)$/.test(fileName)) continue;
        const source = brotliCompressSync(file.type === "chunk" ? file.code : file.source);
        this.emitFile({ type: "asset", fileName: `${fileName}.br`, source });
      }
    },
  },
};

export default defineConfig({
  base: "/",
  plugins: [slimCharts, withoutIndentation, filesOfViews, compressed],
  // Modules load each other by relative addresses: published pages lie in any directory. Pages of a server have any path.
  experimental: {
    renderBuiltUrl: (filename, { hostType }) => (hostType === "html" ? `/${filename}` : { relative: true }),
  },
  build: {
    outDir: "../src/knickpoint/server/static",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    license: { fileName: "third-party-licenses.md" },
    reportCompressedSize: true,
    // What every page needs is one file, and what several pages share is another but for the charts. So are small pages:
    // many small files compress worse. Without the first one, its modules would lie in that of the small pages.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "app", test: /src\/views\/app\.ts/, priority: 1 },
            {
              name: "shared",
              test: /(src\/(api|components|routes|state|templates|text)|directives)\//,
              minShareCount: 2,
            },
            {
              name: "pages",
              test: /src\/views\/(alerts|audit|benchmark|clusters|commit|compare|missing|quality|settings|status|tokens)\//,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8917" } },
  // A process for each file would take three times as long.
  test: { include: ["tests/**/*.test.ts"], isolate: false, testTimeout: 30_000 },
});
