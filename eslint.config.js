import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** SQL belongs to store files, the environment to config files: the rules of STYLE.md that a linter can see. */
const restrictedSyntax = {
  environment: {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'Only config.ts and main.ts read the environment (STYLE.md, Shape).',
  },
  sql: {
    selector:
      'TemplateElement[value.raw=/^\\s*(select|insert into|update|delete from|with [a-z_]+ as)\\s/i], Literal[value=/^\\s*(select|insert into|update|delete from|with [a-z_]+ as)\\s/i]',
    message: 'SQL lives in *-store.ts and *-statements.ts (STYLE.md, Shape).',
  },
  selectStar: {
    selector: 'TemplateElement[value.raw=/select\\s+\\*/i]',
    message: 'List the columns (STYLE.md, Shape).',
  },
  secretComparison: {
    selector:
      'BinaryExpression[operator=/^[!=]==?$/]:has(> :matches(Identifier[name=/(secret|signature|hmac|digest|password|token)s?$/i], MemberExpression[property.name=/(secret|signature|hmac|digest|password|token)s?$/i])):not([right.type="Literal"]):not([right.name="undefined"])',
    message:
      'Compare secrets and signatures by timingSafeEqual: how long === takes depends on how much is equal.',
  },
  functionAsProperty: {
    selector: 'AssignmentExpression[left.type="MemberExpression"][right.type=/^(Arrow)?Function/]',
    message: 'V8 keeps what such a function closes over until a full collection: name it first (ADR 21).',
  },
};

/** For lists of features: more than twenty imports. */
const tooManyImports = {
  selector: 'Program > ImportDeclaration:nth-child(21)',
  message: 'A service lists its features with at most 20 imports: a create-<feature>.ts makes the rest.',
};

export default tseslint.config(
  { ignores: ['**/node_modules', 'proto/gen', '.gatehouse', 'coverage', '**/dist'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: [
            '*.js',
            '*.cjs',
            'test/{support,chart,cluster,outside/pgvector}/*.js',
            'services/edge/console/*.js',
          ],
        },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Interfaces of handlers are often async by contract while one implementation happens not to wait.
      '@typescript-eslint/require-await': 'off',
      // Type parameters that appear once still name what a caller gets back (`call<Row>(…)`).
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      'no-restricted-syntax': ['error', ...Object.values(restrictedSyntax)],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      'max-params': 'off',
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      eqeqeq: 'error',
    },
  },
  {
    files: [
      '**/src/config.ts',
      '**/src/main.ts',
      '**/src/migrate.ts',
      '**/src/bootstrap.ts',
      '**/src/prices-diff.ts',
      'deploy/**/*.ts',
      'test/**/*.ts',
      '**/*.config.*',
    ],
    rules: { 'no-restricted-syntax': ['error', restrictedSyntax.sql, restrictedSyntax.selectStar] },
  },
  {
    files: ['**/*-{store,statements}.ts', '**/store/**/*.ts', 'packages/pg/src/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        restrictedSyntax.environment,
        restrictedSyntax.selectStar,
        restrictedSyntax.functionAsProperty,
      ],
    },
  },
  // These are visible lists of features: one function, and no more than a page.
  {
    files: ['services/*/src/service.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'max-lines': ['error', { max: 70, skipBlankLines: false, skipComments: false }],
      'no-restricted-syntax': ['error', ...Object.values(restrictedSyntax), tooManyImports],
    },
  },
  {
    files: ['**/*.test.ts', 'test/**/*.ts', 'deploy/**/*.ts', 'lint/*.ts', '**/test/**/*.ts'],
    rules: {
      'no-restricted-syntax': 'off',
      'max-lines-per-function': 'off',
    },
  },
  { files: ['**/*.cjs'], languageOptions: { globals: { module: 'writable' } } },
  {
    files: ['services/edge/console/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: { document: 'readonly', location: 'readonly', SwaggerUIBundle: 'readonly', URL: 'readonly' },
    },
  },
  {
    files: [
      '*.config.js',
      '*.cjs',
      '*.js',
      'test/{support,chart,cluster,outside/pgvector}/*.js',
      'services/edge/console/*.js',
    ],
    ...tseslint.configs.disableTypeChecked,
    rules: { ...tseslint.configs.disableTypeChecked.rules, 'no-restricted-exports': 'off' },
  },
);
