import { readFile } from 'node:fs/promises';

/**
 * Variables named by a file of OpenID Connect issuers as secrets of clients. Empty for an unreadable file: the tenant
 * service, which needs it, reports what is wrong with it.
 */
export async function issuerSecretsIn(file: string | undefined): Promise<string[]> {
  const text = await readFile(file ?? '', 'utf8').catch(() => '');
  const named = text.matchAll(/^[^#\n]*\bclient_secret_env["']?\s*:\s*["']?(\w{1,128})/gm);
  return Array.from(named, ([, name = '']) => name);
}
