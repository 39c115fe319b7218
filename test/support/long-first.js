import TestSequencer from '@jest/test-sequencer';

/** The folders whose tests start whole systems, the longest first: a long file that begins last keeps a worker alone. */
const folders = ['/test/chaos/', '/test/e2e/'];

/** Jest's own order, by the time that each file took last or else by its size, after the folders that take longest. */
export default class LongFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ path }) {
  const found = folders.findIndex((folder) => path.includes(folder));
  return found < 0 ? folders.length : found;
}
