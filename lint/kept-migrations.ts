import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { checksumOf } from '@gatehouse/pg/migration-record';

/**
 * A step of `make lint`: reports migrations of a kept version (`releases/<version>/checksums.txt`) that were changed or
 * removed, and new ones that would run before them.
 */

const root = path.join(import.meta.dirname, '..');
const problems: string[] = [];
const keptFiles = new Set<string>();

for (const list of globSync('releases/*/checksums.txt', { cwd: root })) {
  for (const line of readFileSync(path.join(root, list), 'utf8').trimEnd().split('\n')) {
    const [checksum, file = ''] = line.split('  ');
    keptFiles.add(file);
    if (!existsSync(path.join(root, file))) problems.push(`${file} was removed; ${list} keeps it`);
    else if (checksumOf(readFileSync(path.join(root, file), 'utf8')) !== checksum)
      problems.push(`${file} was changed; ${list} keeps it: make the change in a new migration`);
  }
}

for (const file of globSync('services/*/migrations/*.sql', { cwd: root })) {
  const folder = path.dirname(file);
  const newestKept = [...keptFiles]
    .filter((kept) => path.dirname(kept) === folder)
    .sort()
    .at(-1);
  if (!keptFiles.has(file) && newestKept !== undefined && file < newestKept)
    problems.push(`${file} would run before ${newestKept} of a kept version: give it a higher number`);
}

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
