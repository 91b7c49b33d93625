// SPDX-License-Identifier: Apache-2.0
// What is refused in scripts; test/ui/lint.sh runs it. $ESLINT is where it is installed.
import { createRequire } from "node:module";

const { configs } = createRequire(process.env.ESLINT + "/")("@eslint/js");
const named = text => Object.fromEntries(text.split(" ").map(name => [name, "readonly"]));
const both = "AbortController URL URLSearchParams clearTimeout console fetch performance setInterval setTimeout structuredClone";
const browser = named(both + " CSSStyleSheet DataTransfer DragEvent EventSource Event File FormData Headers MouseEvent OffscreenCanvas PopStateEvent ResizeObserver addEventListener axe cancelAnimationFrame " +
                      "devicePixelRatio dispatchEvent document getComputedStyle history innerHeight innerWidth localStorage location matchMedia navigator requestAnimationFrame window");
const node = named(both + " Buffer globalThis process");

const rules = {
  ...configs.recommended.rules,
  "eqeqeq": "error",
  "no-constructor-return": "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-script-url": "error",
  "no-self-compare": "error",
  "no-template-curly-in-string": "error",
  "no-throw-literal": "error",
  "no-undef": "error",
  "no-unneeded-ternary": "error",
  "no-unused-vars": ["error", { args: "after-used", argsIgnorePattern: "^_" }],
  "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
  "no-useless-concat": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": ["error", { destructuring: "all" }],
  "quotes": ["error", "double", { avoidEscape: true, allowTemplateLiterals: true }],
  "semi": "error",
};

export default [
  { ...configs.recommended, files: ["**/*.js", "**/*.mjs"] },
  { files: ["ui/**/*.js"], languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: browser }, linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: { ...rules, "no-shadow": "error", "no-restricted-properties": ["error", { property: "outerHTML" }, { property: "insertAdjacentHTML" }], "no-console": "error" } },
  // What runs in a page stands in the same file as what runs it.
  { files: ["test/**/*.mjs", "bench/ui/**/*.mjs"], languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: { ...browser, ...node } }, rules },
];
