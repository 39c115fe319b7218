import shared from '../../jest.config.js';

/** The tests across services that need no hand in how the gateway runs, against the one that a drill has installed. */
const { globalSetup: _databases, globalTeardown: _none, setupFiles: _record, ...plain } = shared;
const suites = ['authorisation', 'bad-input', 'idempotency', 'relay', 'revocation', 'limits', 'analytics'];
export default {
  ...plain,
  rootDir: '../..',
  roots: ['<rootDir>/test'],
  testMatch: [
    ...suites.map((suite) => `<rootDir>/test/e2e/${suite}.test.ts`),
    '<rootDir>/test/conformance/openai-*.test.ts',
  ],
  // Tests wait for a second of the minute, and here the minute is a real one.
  testTimeout: 120_000,
  // Their provider listens at the one place that the installed catalogue names.
  maxWorkers: 1,
};
