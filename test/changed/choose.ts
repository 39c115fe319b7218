/** Answers which test files reach some files by imports: Jest's `--findRelatedTests`. Paths are relative to the root. */
export type RelatedTests = (files: readonly string[]) => readonly string[];

export interface Choice {
  /** Test files, sorted. */
  files: readonly string[];
  /** Changed files whose effect only `make test`, or a step of its own, shows. */
  notes: readonly string[];
}

const isCode = /\.(ts|tsx|js|cjs)$/;
/** Everything imports these: only the services that change with them are tested. */
const isInterface = /^(packages\/contract|proto)\//;
const isTest = /^test\/|\.test\.ts$|^(packages|services)\/[^/]+\/test\//;
const isOfSystem = /^test\/(e2e|conformance|conversations|chaos|hostile)\//;

/** Tests of whole systems for what changed or is reached. Chaos and hostile tests are left to `make test`. */
const systemTests: readonly { reached: RegExp; tests: RegExp }[] = [
  { reached: /^(services|packages|proto)\//, tests: /e2e\/(one-gateway|openapi)\./ },
  { reached: /^(packages\/contract|proto)\//, tests: /conformance\/openapi|e2e\/(csv-lists|audit)/ },
  { reached: /^services\/agent\//, tests: /e2e\/(tools|large-lists|transfers|transfer-moves|user-data)/ },
  { reached: /^services\/analytics\//, tests: /e2e\/(analytics|csv-lists|events|largest-event|one-trace)/ },
  {
    reached: /^services\/chat\//,
    tests:
      /conformance\/|conversations\/|e2e\/(drain|faults|largest-bodies|limits|models|own-key-canaries|tools|tracing)/,
  },
  { reached: /^services\/edge\//, tests: /e2e\/(drain|faults|issuer-logins|larg|limits|readiness|tracing)/ },
  { reached: /^services\/memory\//, tests: /e2e\/(one-trace|transfers|user-data)/ },
  {
    reached: /^services\/tenant\//,
    tests: /e2e\/(audit|issuer|limits|own-key|owner|transfers|transfer-previews|user-data)/,
  },
  { reached: /^services\/webhook\//, tests: /e2e\/(channels|events|transfer-moves|user-data)/ },
  { reached: /\/migrations\//, tests: /e2e\/(columns|migrations|upgrade)/ },
  { reached: /^deploy\/(local|composed)\/(?!.*\.test\.ts$)/, tests: /e2e\/(dev|local-backup|up|readme)\./ },
  { reached: /^deploy\/(compose|composed|systemd)\/|^packages\/cli\/src\/init\//, tests: /e2e\/one-machine/ },
  { reached: /^deploy\/observability\//, tests: /e2e\/(observability|signals)/ },
  { reached: /^README\.md$|^docs\/tenants\/tour/, tests: /e2e\/readme/ },
  { reached: /^docs\/(tenants|operators)\//, tests: /e2e\/docs/ },
  {
    reached: /^docs\/operators\/(alerts|observability|operations|backup)/,
    tests: /e2e\/(observability|oper)/,
  },
  // It compares pages with folders, tables, settings, callers and names of the code, in seconds.
  { reached: /\.md$|^(packages|services|proto)\//, tests: /^lint\/pages/ },
];

const elsewhere: readonly { changed: RegExp; note: string }[] = [
  { changed: /^charts\/|^test\/(outside|chart)\//, note: 'make test-outside' },
  { changed: /^test\/cluster\//, note: 'make test-cluster' },
  { changed: /^(package(-lock)?\.json|jest\.config\.js|tsconfig\.json)$/, note: 'make test' },
];

/**
 * The tests of a change: those that reach its files by imports, all tests of a workspace whose other files changed
 * (migrations, settings), and tests of whole systems by the services reached. `workspaceCode` lists the code of a
 * workspace; `all` is every test file.
 */
export function chooseTests(changed: readonly string[], { all, related, workspaceCode }: Sources): Choice {
  const code = changed.filter((file) => isCode.test(file));
  const read = changed.filter((file) => !isCode.test(file) && !file.endsWith('.md'));
  const workspaces = new Set(read.flatMap((file) => /^(packages|services)\/[^/]+\//.exec(file)?.[0] ?? []));
  const tests = code.filter((file) => isTest.test(file));
  const shared = code.filter((file) => isInterface.test(file) && !isTest.test(file));
  const source = [
    ...code.filter((file) => !isInterface.test(file) && !isTest.test(file)),
    ...[...workspaces].filter((folder) => !isInterface.test(folder)).flatMap(workspaceCode),
  ];
  const ofParts = related(source).filter((file) => !isOfSystem.test(file));
  const ofPackages = related(shared).filter((file) => file.startsWith('packages/'));
  const reached = [...changed, ...ofParts];
  const ofSystems = systemTests
    .filter((each) => reached.some((file) => each.reached.test(file)))
    .flatMap((each) => all.filter((file) => each.tests.test(file)));
  const files = new Set([...ofParts, ...ofPackages, ...ofSystems, ...related(tests)]);
  const notes = elsewhere.filter((each) => changed.some((file) => each.changed.test(file)));
  return { files: [...files].toSorted(), notes: notes.map(({ note }) => note) };
}

interface Sources {
  all: readonly string[];
  related: RelatedTests;
  workspaceCode: (folder: string) => readonly string[];
}
