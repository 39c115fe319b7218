import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { serviceUrl, type DatabaseOptions } from './database.ts';
import type { LocalCredentials } from './credentials.ts';
import { sharedEnvironment } from './environment.ts';
import { repositoryRoot } from './settings.ts';

const run = promisify(execFile);
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs a command of the tenant service, and returns what it prints. `caller`: the environment of the supervisor, from
 * which the command gets no secret.
 */
export async function runOfTenant(
  file: string,
  words: readonly string[],
  { caller, settings }: { caller: Environment; settings: Readonly<Record<string, string>> },
): Promise<string> {
  const command = path.join(repositoryRoot, 'services/tenant/src', file);
  const env = { ...sharedEnvironment(caller), ...settings };
  const { stdout } = await run(process.execPath, [command, ...words], { env });
  return stdout.trim();
}

/** Link to log a browser in once, within a minute, with the admin key of the demo tenant. */
export async function makeLoginLink(
  { url, admin_key: key }: Pick<LocalCredentials, 'url' | 'admin_key'>,
  { database, caller }: { database: DatabaseOptions; caller: Environment },
): Promise<string> {
  // The public half of the key: arguments of processes are no place for secrets.
  const prefix = key.split('_', 2).join('_');
  const settings = { DATABASE_URL: serviceUrl(database, 'tenant') };
  return url + (await runOfTenant('login-link.ts', [prefix], { caller, settings }));
}
