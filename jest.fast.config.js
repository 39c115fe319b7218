import everything from './jest.config.js';

/** `make test-fast`: unit tests and tests of one service. Whole systems, chaos and what waits for time are left out. */
export default {
  ...everything,
  testPathIgnorePatterns: [...everything.testPathIgnorePatterns, '<rootDir>/test/(e2e|chaos|conformance)/'],
};
