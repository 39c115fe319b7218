import { readFileSync } from 'node:fs';
import path from 'node:path';
import { shares } from './shares.ts';

const oneGateway = path.join(import.meta.dirname, '../e2e/one-gateway.test.ts');

/**
 * Jest's filter of the files to run: leaves out those that run in another one of the same run, by `one-gateway.test.ts`
 * or by a share. Run alone, by its path, each file is left in.
 */
async function withoutThoseOfOthers(files) {
  const asked = new Set(files);
  const together = shares();
  const covered = new Set([
    ...(asked.has(oneGateway) ? importsOf(oneGateway) : []),
    ...([...together.keys()].every((runner) => asked.has(runner)) ? [...together.values()].flat() : []),
  ]);
  return { filtered: files.filter((file) => !covered.has(file)) };
}

function importsOf(file) {
  const imports = readFileSync(file, 'utf8').matchAll(/^import '(.*)';$/gm);
  return [...imports].map(([, imported]) => path.join(path.dirname(file), imported));
}

// Jest requires the file, and calls what it gets.
export { withoutThoseOfOthers as 'module.exports' };
