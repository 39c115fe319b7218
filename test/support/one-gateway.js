import { readFileSync } from 'node:fs';
import path from 'node:path';

const asOne = path.join(import.meta.dirname, '../e2e/one-gateway.test.ts');

/** Jest's filter of the files to run: leaves out those that `one-gateway.test.ts` imports, where that runs itself. */
async function withoutImported(files) {
  if (!files.includes(asOne)) return { filtered: files };
  const imports = readFileSync(asOne, 'utf8').matchAll(/^import '(.*)';$/gm);
  const imported = new Set([...imports].map(([, file]) => path.join(path.dirname(asOne), file)));
  return { filtered: files.filter((file) => !imported.has(file)) };
}

// Jest requires the file, and calls what it gets.
export { withoutImported as 'module.exports' };
