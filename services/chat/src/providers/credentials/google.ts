import { isFields, type Fields } from '@gatehouse/kit/fields';
import { CredentialsError } from '../credentials.ts';
import { boundedFetch, smallFile, tokenIn } from './issuer.ts';
import type { FetchCredential } from './credential-cache.ts';

const scopes = ['https://www.googleapis.com/auth/cloud-platform'];
/** The library asks again by itself otherwise. */
const once = { retry: false };

/**
 * Tokens of Google Cloud, by a file of credentials: the key of a service account, or the configuration of a workload
 * identity federation. The file is read each time, since keys and tokens are rotated.
 */
export function googleTokens(path: string): FetchCredential<string> {
  return async (signal) => {
    const fields = await fieldsIn(path);
    // 4 MB in memory, which only these providers need.
    const { ExternalAccountClient, JWT, gaxios } = await import('google-auth-library');
    const transporterTo = (address?: string) =>
      new gaxios.Gaxios({
        ...once,
        fetchImplementation: (url, init) =>
          boundedFetch(address ?? (url instanceof Request ? url.url : url), {
            ...(init as RequestInit),
            signal,
          }),
      });
    if (fields['type'] === 'service_account') {
      const { client_email: email, private_key: key, token_uri: address } = fields;
      if (typeof email !== 'string' || typeof key !== 'string' || typeof address !== 'string')
        throw new CredentialsError(`the file ${path} has no key of a service account`);
      // The library knows Google's own address alone.
      const transporter = transporterTo(address);
      const client = new JWT({ email, key, scopes, additionalClaims: { aud: address }, transporter });
      const { access_token: token, expiry_date: endsAt } = await client.authorize();
      return { value: tokenIn(token), lifetimeMs: lifetimeOf(endsAt) };
    }
    const options = { ...fields, scopes, transporter: transporterTo() } as unknown;
    const client = ExternalAccountClient.fromJSON(
      options as Parameters<typeof ExternalAccountClient.fromJSON>[0],
    );
    if (client === null) throw new CredentialsError(`the file ${path} has credentials of an unknown type`);
    const { token } = await client.getAccessToken();
    return { value: tokenIn(token), lifetimeMs: lifetimeOf(client.credentials.expiry_date) };
  };
}

async function fieldsIn(path: string): Promise<Fields> {
  const text = await smallFile(path);
  try {
    const fields: unknown = JSON.parse(text);
    if (isFields(fields)) return fields;
  } catch {
    // Its text may be a key.
  }
  throw new CredentialsError(`the file ${path} is no JSON object`);
}

function lifetimeOf(endsAt: number | null | undefined): number {
  const lifetimeMs = (endsAt ?? 0) - Date.now();
  if (lifetimeMs > 0) return lifetimeMs;
  throw new CredentialsError('the token endpoint returned no lifetime');
}
