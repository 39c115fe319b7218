/** One Jest run for the whole repository: unit tests beside their files, service tests, and tests across services. */
export default {
  testEnvironment: '<rootDir>/test/support/plain-environment.js',
  roots: ['<rootDir>/packages', '<rootDir>/services', '<rootDir>/deploy', '<rootDir>/lint', '<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/outside/', '<rootDir>/test/chart/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
  filter: '<rootDir>/test/support/run-as-one.js',
  testSequencer: '<rootDir>/test/support/side-by-side.js',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // For `make test-statements`.
  setupFiles: ['<rootDir>/test/support/record-statements.ts'],
  // More than CI has cores, since a test file waits for about half of its time: two run whole systems, two parts. With
  // five, calls between services of a test that gets no processor time for three seconds fail.
  maxWorkers: 4,
  // A worker keeps the modules of each file. With 3 GB of them, collections stop it for longer than time-outs last.
  workerIdleMemoryLimit: '1GB',
  // A machine at half its speed fails no test; one that waits for nothing fails by `eventually` first.
  testTimeout: 200_000,
};
