import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { estimateOf } from './estimates.ts';

const root = path.join(import.meta.dirname, '../..');

interface Pool {
  /** Names the runners: `test/together/<runner>-*.test.ts`. */
  runner: string;
  files: readonly string[];
  /** Content of a file that belongs to the pool. */
  content: RegExp;
}

/**
 * Loading what a file tests takes 1.5 s of processor time for a test of a service or of a gateway in its process: files
 * of a share load it once.
 */
const pools: readonly Pool[] = [
  {
    runner: 'share',
    files: [
      '{lint,packages,services}/**/*.test.ts',
      'test/{changed,statements}/*.test.ts',
      'test/support/{provider-simulator/**/*,statement-record}.test.ts',
    ],
    content: /^/,
  },
  {
    runner: 'gateway',
    files: ['test/{conversations,e2e}/*.test.ts'],
    content: /TestGateway\.start|startGround|startGateway/,
  },
];
/** A file that measures its own process, replaces its clock, or waits while it loads runs by itself. */
const needsItsOwn = /longest-block|memoryUsage|setFlagsFromString|useFakeTimers|^(const .* = )?await /m;

/** Names the test files of a run of `make test-changed`, relative, a line each. */
export const chosenVariable = 'GATEHOUSE_CHOSEN_TESTS';
/** By estimates. A run of some files has fewer shares than the whole one. */
const leastSeconds = 60;

/** For each of `test/together/*.test.ts`, the test files that it runs: neighbours, about as long in each. Absolute. */
export function shares(): Map<string, readonly string[]> {
  return new Map(pools.flatMap((pool) => [...sharesOf(pool)]));
}

function sharesOf({ runner, files: patterns, content }: Pool): Map<string, readonly string[]> {
  const chosen = process.env[chosenVariable]?.split('\n');
  const files = globSync(patterns, { cwd: root, exclude: ['**/node_modules'] })
    .filter((file) => chosen?.includes(file) ?? true)
    .map((file) => path.join(root, file))
    .filter((file) => {
      const text = readFileSync(file, 'utf8');
      return content.test(text) && !needsItsOwn.test(text);
    })
    .toSorted();
  const whole = files.reduce((sum, file) => sum + estimateOf(file).seconds, 0);
  const runners = globSync(`test/together/${runner}-*.test.ts`, { cwd: root })
    .map((file) => path.join(root, file))
    .toSorted()
    .slice(0, chosen === undefined ? undefined : Math.ceil(whole / leastSeconds));
  let before = 0;
  return Map.groupBy(files, (file) => {
    const share = runners[Math.floor((before / whole) * runners.length)] ?? '';
    before += estimateOf(file).seconds;
    return share;
  });
}
