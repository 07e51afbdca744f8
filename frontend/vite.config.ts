import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/",
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
  },
  server: { proxy: { "/api": "http://127.0.0.1:8917" } },
  test: { include: ["tests/**/*.test.ts"] },
});
