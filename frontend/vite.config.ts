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

export default defineConfig({
  base: "/",
  plugins: [withoutIndentation],
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
    // Modules that several pages share are one file but for the charts: many small files compress worse.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "shared", test: /src\/(api|routes|state|templates|text)\//, minShareCount: 2 }],
        },
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8917" } },
  test: { include: ["tests/**/*.test.ts"] },
});
