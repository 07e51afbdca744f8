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
  plugins: [withoutIndentation, compressed],
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
    // Modules that several pages share are one file but for the charts, and so are small pages: many small files compress
    // worse.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
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
  test: { include: ["tests/**/*.test.ts"] },
});
