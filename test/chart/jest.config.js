import shared from '../../jest.config.js';

/** The chart's tests need Helm, so they run as a step of `make test-outside` (40-chart.sh) and not with the others. */
const { globalSetup: _databases, globalTeardown: _none, setupFiles: _record, ...plain } = shared;
export default {
  ...plain,
  rootDir: '../..',
  roots: ['<rootDir>/test/chart'],
  testPathIgnorePatterns: ['/node_modules/'],
};
