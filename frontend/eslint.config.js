import eslint from "@eslint/js";
import lit from "eslint-plugin-lit";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** The layers of `src`, the lowest first: a module imports its own layer and those before it. */
const LAYERS = ["api", "text", "routes", "state", "charts", "templates", "components", "views"];

export default defineConfig(
  { ignores: ["node_modules/", "src/api/schema.d.ts"] },
  eslint.configs.recommended,
  lit.configs["flat/recommended"],
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unsafe-enum-assignment": "off", // uPlot declares const enums, which cannot be imported one by one
      "no-console": "error",
      eqeqeq: "error",
    },
  },
  LAYERS.map((layer, index) => ({
    files: [`src/${layer}/**/*.ts`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { regex: `\\.\\./(${LAYERS.slice(index + 1).join("|") || "-"})/`, message: "It is a layer above." },
          ],
        },
      ],
    },
  })),
);
