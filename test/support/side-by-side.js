import TestSequencer from '@jest/test-sequencer';
import { estimateOf } from './estimates.ts';

/** Workers that run systems, while the others have parts to test. */
const systemWorkers = 2;

/**
 * Puts tests of whole systems beside tests of parts, the longest first: four systems at once, of up to nine processes
 * each, would take longer than their time-outs on two cores.
 */
export default class SideBySide extends TestSequencer {
  #partWorkers;

  constructor(options) {
    super(options);
    this.#partWorkers = Math.max(options.globalConfig.maxWorkers - systemWorkers, 1);
  }

  sort(tests) {
    const timed = super.sort(tests).map((test) => timeOf(test));
    const lanes = [true, false].map((system) => ({
      left: timed.filter((each) => each.system === system).toSorted((a, b) => b.seconds - a.seconds),
      workers: system ? systemWorkers : this.#partWorkers,
      busy: 0,
    }));
    const sorted = [];
    while (sorted.length < timed.length) {
      const [lane] = lanes.filter(({ left }) => left.length > 0).toSorted((a, b) => a.busy - b.busy);
      const next = lane.left.shift();
      lane.busy += next.seconds / lane.workers;
      sorted.push(next.test);
    }
    return sorted;
  }
}

function timeOf(test) {
  const { seconds, system } = estimateOf(test.path);
  return { test, system, seconds: test.duration === undefined ? seconds : test.duration / 1_000 };
}
