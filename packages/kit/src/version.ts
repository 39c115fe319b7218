import { readFileSync } from 'node:fs';

const { version: packageVersion } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** The release that this process runs; all workspaces carry the same version. */
export const version: string = packageVersion;
