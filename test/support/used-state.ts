import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder, type StateFolder } from './local-system.ts';
import { hostOnce, madeOnce } from './once-a-run.ts';

const variable = 'GATEHOUSE_TEST_STATE_PORT';

/**
 * Lets `make up` run once, when a test file first requests its state folder, and returns a function that ends this. The
 * cluster of PostgreSQL, the migrations and the keys take half of the time of a first start.
 */
export function hostState(runFolder: string): Promise<() => Promise<unknown>> {
  return hostOnce(variable, async () => {
    const folder = path.join(runFolder, 'state');
    const settings = { OPENAI_BASE_URL: 'http://127.0.0.1:9', OPENAI_API_KEY: 'unused', LOG_LEVEL: 'warn' };
    const system = new LocalSystem(folder, { ...settings, PORT: String(await freePort()) });
    try {
      await system.ready();
    } finally {
      await system.stop();
    }
    return { folder };
  });
}

/** As `makeStateFolder`, but `make up` has run on it before. Outside of a Jest run the folder is empty. */
export async function makeUsedStateFolder(): Promise<StateFolder> {
  const [used, state] = await Promise.all([madeOnce<{ folder: string }>(variable), makeStateFolder()]);
  // Some of the files belong to the user of PostgreSQL.
  if (used !== undefined) await promisify(execFile)('cp', ['-a', `${used.folder}/.`, state.folder]);
  return state;
}
