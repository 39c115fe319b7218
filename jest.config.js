/** One Jest run for the whole repository: unit tests beside their files, service tests, and tests across services. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/packages', '<rootDir>/services', '<rootDir>/deploy', '<rootDir>/lint', '<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/outside/', '<rootDir>/test/chart/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
  testSequencer: '<rootDir>/test/support/long-first.js',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // More than the two cores of CI: a worker spends most of its time waiting (0.3 to 0.55 of a core each).
  maxWorkers: 3,
  testTimeout: 30_000,
};
