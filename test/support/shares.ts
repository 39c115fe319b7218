import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { estimateOf } from './estimates.ts';

const root = path.join(import.meta.dirname, '../..');

/** Loading what a file tests takes 1.5 s of processor time for a test of a service: files of a share load it once. */
const shared = ['packages/**/*.test.ts', 'services/**/*.test.ts'];
/** A file that measures its own process, replaces its clock, or waits while it loads runs by itself. */
const needsItsOwn = /longest-block|memoryUsage|setFlagsFromString|useFakeTimers|^(const .* = )?await /m;

/** The files `test/together/share-*.test.ts`, absolute. */
export function shareFiles(): string[] {
  return globSync('test/together/share-*.test.ts', { cwd: root })
    .map((file) => path.join(root, file))
    .toSorted();
}

/** For each of {@link shareFiles}, the test files that it runs, absolute: neighbours, about as long in each. */
export function shares(): Map<string, readonly string[]> {
  const files = globSync(shared, { cwd: root, exclude: ['**/node_modules'] })
    .map((file) => path.join(root, file))
    .filter((file) => !needsItsOwn.test(readFileSync(file, 'utf8')))
    .toSorted();
  const runners = shareFiles();
  const whole = files.reduce((sum, file) => sum + estimateOf(file).seconds, 0);
  let before = 0;
  return Map.groupBy(files, (file) => {
    const share = runners[Math.floor((before / whole) * runners.length)] ?? '';
    before += estimateOf(file).seconds;
    return share;
  });
}
