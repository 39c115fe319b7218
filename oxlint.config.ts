import { globSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'oxlint';

/** Each as an error, without options. */
const errors = (names: string, prefix = ''): Record<string, 'error'> =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [prefix + name, 'error']),
  );

/** Mistakes that no type shows. */
const recommended = errors(`
    for-direction no-async-promise-executor no-case-declarations no-compare-neg-zero no-cond-assign
    no-constant-binary-expression no-constant-condition no-control-regex no-debugger no-delete-var
    no-dupe-else-if no-duplicate-case no-empty no-empty-character-class no-empty-pattern
    no-empty-static-block no-ex-assign no-extra-boolean-cast no-fallthrough no-global-assign
    no-invalid-regexp no-irregular-whitespace no-loss-of-precision no-misleading-character-class
    no-nonoctal-decimal-escape no-prototype-builtins no-regex-spaces no-self-assign
    no-shadow-restricted-names no-sparse-arrays no-unassigned-vars no-unexpected-multiline
    no-unsafe-finally no-unused-labels no-unused-private-class-members no-useless-backreference
    no-useless-catch no-useless-escape preserve-caught-error require-yield use-isnan valid-typeof
    no-array-constructor no-unused-expressions no-useless-constructor eqeqeq
  `);

/** The strictest set of typescript-eslint, but for what STYLE.md does otherwise. */
const typed = errors(
  `
    await-thenable no-array-delete no-base-to-string no-deprecated no-duplicate-enum-values
    no-duplicate-type-constituents no-dynamic-delete no-empty-object-type no-explicit-any
    no-extra-non-null-assertion no-extraneous-class no-floating-promises no-for-in-array
    no-generated-empty-object-type no-implied-eval no-invalid-void-type no-meaningless-void-operator
    no-misused-new no-misused-promises no-misused-spread no-mixed-enums no-namespace
    no-non-null-asserted-nullish-coalescing no-non-null-asserted-optional-chain no-non-null-assertion
    no-redundant-type-constituents no-require-imports no-this-alias
    no-unnecessary-boolean-literal-compare no-unnecessary-template-expression
    no-unnecessary-type-arguments no-unnecessary-type-assertion no-unnecessary-type-constraint
    no-unnecessary-type-conversion no-unsafe-argument no-unsafe-assignment no-unsafe-call
    no-unsafe-declaration-merging no-unsafe-enum-comparison no-unsafe-function-type
    no-unsafe-member-access no-unsafe-return no-unsafe-unary-minus no-useless-default-assignment
    no-wrapper-object-types only-throw-error prefer-as-const prefer-literal-enum-member
    prefer-namespace-keyword prefer-promise-reject-errors prefer-reduce-type-parameter
    prefer-return-this-type related-getter-setter-pairs triple-slash-reference unbound-method
    unified-signatures use-unknown-in-catch-callback-variable consistent-type-imports
    no-unnecessary-condition
  `,
  'typescript/',
);

/** For files that have no types. */
const untyped = Object.fromEntries(Object.keys(typed).map((name) => [name, 'off' as const]));

/** Rules of STYLE.md, by `lint/house-rules.js`. */
const house = errors(
  'environment sql select-star secret-comparison function-as-property dialect-name',
  'house/',
);

/** The folders of APIs in packages/dialects. */
const apiFiles = globSync('packages/dialects/src/*/request-writer.ts', { cwd: import.meta.dirname }).map(
  (file) => `${path.posix.dirname(file)}/**/*.ts`,
);

export default defineConfig({
  plugins: ['typescript'],
  jsPlugins: ['./lint/house-rules.js'],
  categories: { correctness: 'off' },
  options: { typeAware: true, typeCheck: true, reportUnusedDisableDirectives: 'error' },
  env: { builtin: true },
  ignorePatterns: ['**/node_modules', 'proto/gen', '.gatehouse', 'coverage', '**/dist'],
  rules: {
    ...recommended,
    ...typed,
    ...house,
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
    'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    'typescript/restrict-plus-operands': [
      'error',
      {
        allowAny: false,
        allowBoolean: false,
        allowNullish: false,
        allowNumberAndString: false,
        allowRegExp: false,
      },
    ],
    'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
    'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
    'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
    'max-params': ['error', { max: 4 }],
    eqeqeq: 'error',
    'object-shorthand': ['error', 'properties'],
    'no-useless-rename': 'error',
  },
  overrides: [
    {
      files: [
        '**/src/config.ts',
        '**/src/main.ts',
        '**/src/migrate.ts',
        '**/src/bootstrap.ts',
        '**/src/login-link.ts',
        '**/src/models-check.ts',
        '**/src/prices-diff.ts',
        'deploy/**/*.ts',
        'test/**/*.ts',
        '**/*.config.*',
      ],
      rules: {
        'house/environment': 'off',
        'house/secret-comparison': 'off',
        'house/function-as-property': 'off',
      },
    },
    {
      files: ['**/*-store.ts', '**/store/**/*.ts', 'packages/pg/src/**/*.ts'],
      rules: { 'house/sql': 'off', 'house/secret-comparison': 'off' },
    },
    // Folders of APIs with their registries, routes, and kinds of providers, which host some of the APIs.
    {
      files: [
        ...apiFiles,
        'packages/dialects/src/{dialects,client-surfaces,translation/translation}.ts',
        'packages/contract/**/*.ts',
        'services/chat/src/providers/kinds/*.ts',
      ],
      rules: { 'house/dialect-name': 'off' },
    },
    // These are visible lists of features: one function, and no more than a page.
    {
      files: ['services/*/src/service.ts'],
      rules: {
        'house/few-imports': 'error',
        'max-lines-per-function': 'off',
        'max-lines': ['error', { max: 70, skipBlankLines: false, skipComments: false }],
      },
    },
    {
      files: ['**/*.test.ts', 'test/**/*.ts', 'deploy/**/*.ts', 'lint/*.ts', '**/test/**/*.ts'],
      rules: {
        'house/environment': 'off',
        'house/sql': 'off',
        'house/select-star': 'off',
        'house/secret-comparison': 'off',
        'house/function-as-property': 'off',
        'house/dialect-name': 'off',
        'max-lines-per-function': 'off',
      },
    },
    { files: ['**/*.cjs'], globals: { module: 'writable' } },
    {
      files: ['services/edge/console/*.js'],
      globals: { document: 'readonly', location: 'readonly', SwaggerUIBundle: 'readonly', URL: 'readonly' },
    },
    // Tools ask for default exports.
    { files: ['**/*.config.*'], rules: { 'no-restricted-exports': 'off' } },
    {
      files: ['**/*.{js,cjs}'],
      rules: { 'no-restricted-exports': 'off', ...untyped, 'typescript/restrict-plus-operands': 'off' },
    },
  ],
});
