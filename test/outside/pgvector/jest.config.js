import jest from '../../../jest.config.js';

/**
 * Tests that depend on how the database compares vectors, with the PostgreSQL of `TEST_PGVECTOR`
 * (test/support/global-setup.ts).
 */
export default {
  ...jest,
  rootDir: '../../..',
  // Its statements are recorded by `make test`.
  setupFiles: [],
  testMatch: [
    '<rootDir>/test/outside/pgvector/*.test.ts',
    '<rootDir>/services/memory/test/{passage-index,semantic}.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/'],
};
