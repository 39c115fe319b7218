import { Readable } from 'node:stream';
import { unlessAborted } from '@gatehouse/kit/clock';
import type { ProviderOf } from '../../catalogue/provider-schema.ts';
import { CredentialsError, type Secrets } from '../credentials.ts';
import { boundedFetch, smallFile } from './issuer.ts';
import type { FetchCredential, IssuedCredential } from './credential-cache.ts';

/** AWS keys to sign requests with. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

type Bedrock = ProviderOf<'bedrock'>;

/** Keys by the credentials in the catalogue; from the surroundings only where it says so. */
export function awsKeys(provider: Bedrock, secrets: Secrets): FetchCredential<AwsKeys> {
  const { access_key: accessKey, web_identity: identity } = provider;
  if (accessKey !== undefined) return () => Promise.resolve(staticKeys(accessKey, secrets));
  if (identity !== undefined) return (signal) => byWebIdentity(identity, provider.region, signal);
  return async (signal) => {
    const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
    return issuedKeys(await unlessAborted(signal, fromNodeProviderChain()()));
  };
}

function staticKeys(
  { id_env: id, secret_env: secret, session_token_env: token }: NonNullable<Bedrock['access_key']>,
  secrets: Secrets,
): IssuedCredential<AwsKeys> {
  const accessKeyId = secrets[id];
  const secretAccessKey = secrets[secret];
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new CredentialsError('a variable with the access key is not set');
  const sessionToken = token === undefined ? undefined : secrets[token];
  const value = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  return { value, lifetimeMs: Infinity };
}

/** The token is read each time, since it is rotated. */
async function byWebIdentity(
  {
    role_arn: roleArn,
    token_file: file,
    session_name: roleSessionName,
    sts_url: endpoint,
  }: NonNullable<Bedrock['web_identity']>,
  region: string,
  signal: AbortSignal,
): Promise<IssuedCredential<AwsKeys>> {
  const webIdentityToken = await smallFile(file);
  const { fromWebToken } = await import('@aws-sdk/credential-providers');
  const keys = fromWebToken({
    ...{ roleArn, roleSessionName, webIdentityToken },
    clientConfig: {
      ...{ region, maxAttempts: 1, ...(endpoint !== undefined && { endpoint }) },
      requestHandler: handlerWith(signal),
    },
  });
  return issuedKeys(await keys());
}

/** The requests of AWS's clients, with bounds: its own handler ends none with the signal, and reads any answer. */
function handlerWith(signal: AbortSignal): RequestHandler {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    handle: async ({ protocol, hostname, port, path, method, headers, body }) => {
      const address = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;
      const { host: _host, 'content-length': _length, ...sent } = headers;
      const answer = await boundedFetch(address, { method, headers: sent, body: body as string, signal });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const named = Object.fromEntries(answer.headers);
      return { response: { statusCode: answer.status, headers: named, body: Readable.from([bytes]) } };
    },
  };
}

/** AWS's interface for senders of requests, as far as its clients need it. */
interface RequestHandler {
  metadata: { handlerProtocol: string };
  handle(request: {
    protocol: string;
    hostname: string;
    port?: number;
    path: string;
    method: string;
    headers: Record<string, string>;
    body?: unknown;
  }): Promise<{ response: { statusCode: number; headers: Record<string, string>; body: Readable } }>;
}

function issuedKeys({
  accessKeyId,
  secretAccessKey,
  sessionToken,
  expiration,
}: AwsKeys & { expiration?: Date }): IssuedCredential<AwsKeys> {
  const lifetimeMs = expiration === undefined ? Infinity : expiration.getTime() - Date.now();
  const value = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  return { value, lifetimeMs };
}
