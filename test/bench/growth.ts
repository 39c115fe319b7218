import { Random } from '@gatehouse/test/random';
import { CommitModel, type Machine } from './commit-model.ts';
import { percentile } from './database.ts';
import { figure, print } from './table.ts';

/**
 * How far an installation grows, calculated from measured costs: nothing runs here but a simulation.
 * `docs/operators/size.md` has the results. Usage: `node test/bench/growth.ts`.
 */

const chat = { group: 350, entry: 10, bytes: 1_000 };
/** Microseconds of CPU, and bytes in the write-ahead log, for each run. */
const analytics = { run: 60, bytes: 3_500 };
/** Microseconds of CPU of all processes of Gatehouse together, for each run that is no stream. */
const processes = 400;

/** A start or an end may wait for so long, at the 99th percentile. */
const longestWaitMs = 20;
/** The share of its cores that a machine is to use; the rest is for peaks, vacuum and readers. */
const plannedShare = 0.6;
const disk = { diskBytes: 300_000, mostInGroup: 512 };
const simulated = 60_000;
const flushes = [0.3, 1, 3];
const sizes = [
  { cores: 2, replicas: 2 },
  { cores: 2, replicas: 16 },
  { cores: 8, replicas: 16 },
  { cores: 8, replicas: 64 },
];
const rates = [1_000, 10_000, 100_000];
const databases = [2, 4, 8, 16];
const tenants = 1_000;

/** The most runs per second whose starts and ends wait no longer than they may. */
function mostRuns(machine: Machine): number {
  let [low, high] = [100, 1_000_000];
  while (high / low > 1.05) {
    const middle = Math.sqrt(low * high);
    const waits = new CommitModel(chat, machine).waits(simulated, 2 * middle);
    if (percentile(waits, 0.99) <= longestWaitMs) low = middle;
    else high = middle;
  }
  return low;
}

/** How much more than the mean the fullest database has, if tenants are spread by the hash of their id. */
function fullest(count: number): number {
  const ratios = Array.from({ length: 200 }, (_, seed) => {
    const random = new Random(seed);
    const loads = Array.from({ length: count }, () => 0);
    // The second tenant has half of the first one's runs, the third a third (Zipf).
    for (let place = 1; place <= tenants; place += 1) {
      const at = Math.floor(random.next() * count);
      loads[at] = (loads[at] ?? 0) + 1 / place;
    }
    return (Math.max(...loads) * count) / loads.reduce((sum, load) => sum + load, 0);
  });
  return percentile(ratios, 0.5);
}

const cores = (microseconds: number): string[] =>
  rates.map((rate) => figure((rate * microseconds) / 1_000_000 / plannedShare));
const megabytes = (bytes: number): string[] => rates.map((rate) => figure((rate * bytes) / 1_000_000));

console.log(`most runs/s of one PostgreSQL of chat, 99 % of starts and ends within ${longestWaitMs} ms\n`);
print([
  ['its cores', 'replicas of chat', ...flushes.map((ms) => `${ms} ms a flush`)],
  ...sizes.map((size) => [
    String(size.cores),
    String(size.replicas),
    ...flushes.map((flushMs) => figure(mostRuns({ ...size, ...disk, flushMs }), 0)),
  ]),
]);
console.log(`cores of which ${plannedShare * 100} % are used, and write-ahead log\n`);
print([
  ['', ...rates.map((rate) => `${rate} runs/s`)],
  ['edge, chat and the other services', ...cores(processes)],
  ['PostgreSQL of chat, 16 runs in a group', ...cores(2 * chat.entry + chat.group / 16)],
  ['PostgreSQL of analytics', ...cores(analytics.run)],
  ['log of chat, MB/s', ...megabytes(2 * chat.bytes)],
  ['log of analytics, MB/s', ...megabytes(analytics.bytes)],
]);
console.log(`the fullest of some databases to the mean, ${tenants} tenants with shares of 1, 1/2, 1/3, …\n`);
print([
  ['databases', ...databases.map(String)],
  ['by hash of the tenant', ...databases.map((count) => figure(fullest(count), 2))],
]);
