import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { setting } from '../step.ts';

/** The gateway of `make test-outside`, as its demo tenant uses it. */

export const credentials = JSON.parse(
  readFileSync(path.join(setting('GATEHOUSE_STATE'), 'credentials.json'), 'utf8'),
) as LocalCredentials;

/** Calls the API as an administrator. Throws for any answer but a success. */
export async function call<Body = Record<string, string>>(
  route: string,
  body?: object,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Body> {
  const response = await fetch(credentials.url + route, {
    method,
    headers: {
      authorization: `Bearer ${credentials.admin_key}`,
      'content-type': 'application/json',
      'x-service-user-id': 'ada',
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  return (response.status === 204 ? {} : await response.json()) as Body;
}
