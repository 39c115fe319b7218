import { describe } from '@jest/globals';
import { createRequire } from 'node:module';
import path from 'node:path';
import { shares } from './shares.ts';

const root = path.join(import.meta.dirname, '../..');

/** Runs the test files of a share in one module registry, each with its hooks to itself and named by its path. */
export function runShare(url: string): void {
  const require = createRequire(url);
  for (const file of shares().get(new URL(url).pathname) ?? [])
    describe(path.relative(root, file), () => {
      require(file);
    });
}
