import TestSequencer from '@jest/test-sequencer';

/** Seconds that a file of a folder takes on two cores, where Jest has not measured it. Systems: tests of whole ones. */
const folders = [
  { folder: '/test/chaos/', seconds: 90, system: true },
  { folder: '/test/e2e/', seconds: 20, system: true },
  { folder: '/test/conformance/', seconds: 15, system: true },
  { folder: '/test/', seconds: 10, system: false },
  { folder: '/', seconds: 1.5, system: false },
];

/**
 * Puts tests of whole systems beside tests of parts, the longest first: four systems at once, of up to nine processes
 * each, would take longer than their time-outs on two cores.
 */
export default class SideBySide extends TestSequencer {
  sort(tests) {
    const timed = super.sort(tests).map((test) => timeOf(test));
    const lanes = [true, false].map((system) => ({
      left: timed.filter((each) => each.system === system).toSorted((a, b) => b.seconds - a.seconds),
      busy: 0,
    }));
    const sorted = [];
    while (sorted.length < timed.length) {
      const [lane] = lanes.filter(({ left }) => left.length > 0).toSorted((a, b) => a.busy - b.busy);
      const next = lane.left.shift();
      lane.busy += next.seconds;
      sorted.push(next.test);
    }
    return sorted;
  }
}

function timeOf(test) {
  const { seconds, system } = folders.find(({ folder }) => test.path.includes(folder));
  return { test, system, seconds: test.duration === undefined ? seconds : test.duration / 1_000 };
}
