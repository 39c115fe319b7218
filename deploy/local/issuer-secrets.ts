import { readFile } from 'node:fs/promises';

/**
 * The variables that a file of OpenID Connect issuers names as secrets of clients. None for a file that can't be read: the
 * tenant service, which needs it, reports what is wrong with it.
 */
export async function issuerSecretsIn(file: string | undefined): Promise<string[]> {
  const text = await readFile(file ?? '', 'utf8').catch(() => '');
  const named = text.matchAll(/^[^#\n]*\bclient_secret_env["']?\s*:\s*["']?(\w{1,128})/gm);
  return Array.from(named, ([, name = '']) => name);
}
