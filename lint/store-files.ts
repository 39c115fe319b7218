import { globSync } from 'node:fs';

/** Source files with SQL, from the repository's root. */
export function storeFiles(root: string): string[] {
  return globSync('{packages,services}/*/src/**/{store/**/*,*-store}.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .sort();
}
