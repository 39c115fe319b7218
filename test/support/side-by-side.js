import TestSequencer from '@jest/test-sequencer';

/**
 * Seconds that a file takes on two cores, where Jest has not measured it, as in a new clone. Systems: tests of whole ones.
 */
const estimates = [
  { files: /\/test\/(chaos|hostile)\//, seconds: 90, system: true },
  { files: /\/test\/e2e\/(transfer-moves|signals|one-gateway|up|operations)\./, seconds: 60, system: true },
  { files: /\/test\/e2e\//, seconds: 20, system: true },
  { files: /\/test\/conformance\//, seconds: 15, system: true },
  { files: /\/webhook\/test\/(channel|moved|zalo\.)/, seconds: 70, system: false },
  { files: /\/test\/proxies-bodies\.|\/worst-answers\./, seconds: 60, system: false },
  {
    files: /\/kafka\.|\/splitter\.|\/many-scopes\.|\/body-room\.|\/proxies|\/import/,
    seconds: 35,
    system: false,
  },
  { files: /\/webhook\/test\//, seconds: 15, system: false },
  { files: /\/test\//, seconds: 8, system: false },
  { files: /\/worst-|\/outbox-relay\.|\/replica-stops\.|\/sandbox\./, seconds: 25, system: false },
  { files: /\//, seconds: 1.5, system: false },
];
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
  const { seconds, system } = estimates.find(({ files }) => files.test(test.path));
  return { test, system, seconds: test.duration === undefined ? seconds : test.duration / 1_000 };
}
