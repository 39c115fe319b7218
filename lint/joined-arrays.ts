import { readFileSync } from 'node:fs';
import path from 'node:path';
import { joinedArrays } from './statements.ts';
import { storeFiles } from './store-files.ts';

/** A step of `make lint`: reports statements of stores that may compare every row of a table with every one of an array. */

const root = path.join(import.meta.dirname, '..');

const problems = storeFiles(root).flatMap((file) =>
  joinedArrays(readFileSync(path.join(root, file), 'utf8')).map(
    ({ line, problem }) => `${file}:${line} ${problem}`,
  ),
);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
