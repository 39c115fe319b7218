import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Removes development dependencies from the manifests of all workspaces and from the lock file. `npm ci -w` follows
 * them between workspaces even with `--omit=dev`, and would install test dependencies into every image.
 */
interface Manifest {
  devDependencies?: unknown;
}

const lockFile = 'package-lock.json';
const lock = readJson<{ packages: Record<string, Manifest> }>(lockFile);
for (const [folder, entry] of Object.entries(lock.packages)) {
  if (folder.includes('node_modules')) continue;
  delete entry.devDependencies;
  const file = folder === '' ? 'package.json' : `${folder}/package.json`;
  const manifest = readJson<Manifest>(file);
  delete manifest.devDependencies;
  writeFileSync(file, JSON.stringify(manifest));
}
writeFileSync(lockFile, JSON.stringify(lock));

function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content;
}
