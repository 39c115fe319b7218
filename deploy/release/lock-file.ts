import { readFileSync } from 'node:fs';
import path from 'node:path';

/** A package of the lock file. */
export interface LockedPackage {
  version: string;
  license?: string;
  /** `sha512-` and base64. */
  integrity?: string;
  hasInstallScript?: true;
}

/** The packages of the lock file, by their folders. */
export function lockedPackages(root: string): ReadonlyMap<string, LockedPackage> {
  const text = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  return new Map(Object.entries((JSON.parse(text) as { packages: Record<string, LockedPackage> }).packages));
}
