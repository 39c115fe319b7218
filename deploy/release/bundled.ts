import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { LockedPackage } from './lock-file.ts';
import { compare, componentOf, type Component } from './sbom.ts';

/** The list of files in a bundle, by esbuild. */
interface Metafile {
  inputs: Record<string, unknown>;
}

/**
 * The packages in a bundle, as components. `metafile`: that of the bundle; `from`: the start of its paths.
 * Throws for a package outside the lock file.
 */
export function bundledIn(
  metafile: string,
  from: string,
  locked: ReadonlyMap<string, LockedPackage>,
): Component[] {
  const { inputs } = JSON.parse(readFileSync(metafile, 'utf8')) as Metafile;
  const folders = new Set<string>();
  for (const input of Object.keys(inputs)) {
    const file = path.resolve(from, input);
    if (file.includes('/node_modules/')) folders.add(lockedFolder(file, locked));
  }
  return [...folders].sort(compare).map((folder) => {
    const entry = locked.get(folder) ?? { version: '' };
    return componentOf(folder.replace(/^.*node_modules\//, ''), entry);
  });
}

/** The folder of a file's package as the lock file names it: in a workspace's packages or in those of all. */
function lockedFolder(file: string, locked: ReadonlyMap<string, LockedPackage>): string {
  const [, before = '', folder = ''] =
    /^(.*?)\/(node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  const workspace = before.split('/').slice(-2).join('/');
  const lockedName = [`${workspace}/${folder}`, folder].find((name) => locked.has(name));
  if (lockedName === undefined)
    throw new Error(`package-lock.json has no package of ${file}, which is in a bundle`);
  return lockedName;
}
