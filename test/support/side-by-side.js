import TestSequencer from '@jest/test-sequencer';

/** Seconds that a file of a folder takes on two cores, where Jest has not measured it. */
const folders = [
  { folder: '/test/chaos/', seconds: 45 },
  { folder: '/test/e2e/', seconds: 20 },
  { folder: '/test/conformance/', seconds: 15 },
  { folder: '/test/', seconds: 10 },
  { folder: '/', seconds: 1.5 },
];
/** Tests that start the whole system as `make up` does, as a process for each service. */
const ofProcesses = /\/test\/(?:chaos\/|e2e\/(?:dev|one-trace|openapi|up)\.test)/;

/**
 * Orders tests for three workers, the longest first: one of them has the tests of whole systems of processes. Two such
 * systems at once take longer than their time-outs on two cores.
 */
export default class SideBySide extends TestSequencer {
  sort(tests) {
    const timed = super.sort(tests).map((test) => ({ test, seconds: secondsOf(test) }));
    const byLength = (some) => some.toSorted((a, b) => b.seconds - a.seconds);
    const systems = byLength(timed.filter(({ test }) => ofProcesses.test(test.path)));
    const others = byLength(timed.filter(({ test }) => !ofProcesses.test(test.path)));
    const workers = [systems, others, others].map((left) => ({ left, busy: 0 }));
    const sorted = [];
    while (sorted.length < timed.length) {
      const [worker] = workers.filter(({ left }) => left.length > 0).toSorted((a, b) => a.busy - b.busy);
      const next = worker.left.shift();
      worker.busy += next.seconds;
      sorted.push(next.test);
    }
    return sorted;
  }
}

function secondsOf(test) {
  if (test.duration !== undefined) return test.duration / 1_000;
  return folders.find(({ folder }) => test.path.includes(folder)).seconds;
}
