import { readFileSync } from 'node:fs';

const { version: packageVersion } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** The running release; all workspaces have the same version. */
export const version: string = packageVersion;
