import type { ProviderOf } from '../../catalogue/provider-schema.ts';
import { CredentialsError } from '../credentials.ts';
import { postForm, smallFile, tokenIn } from './issuer.ts';
import type { FetchCredential } from './credential-cache.ts';

type Entra = NonNullable<ProviderOf<'azure'>['entra']>;

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Tokens of Microsoft Entra for a client (RFC 6749, 4.4), by its secret or by a token of another issuer (RFC 7523, 2.2). */
export function entraTokens(entra: Entra, secret: string | undefined): FetchCredential<string> {
  const { authority_url: authority, tenant_id: tenant, client_id, scope } = entra;
  return async (signal) => {
    const proof = await proofOf(entra, secret);
    const form = { grant_type: 'client_credentials', client_id, scope, ...proof };
    const answer = await postForm(`${authority}/${tenant}/oauth2/v2.0/token`, form, signal);
    const seconds = Number(answer['expires_in']);
    if (!(seconds > 0)) throw new CredentialsError('the token endpoint returned no lifetime');
    return { value: tokenIn(answer['access_token']), lifetimeMs: seconds * 1_000 };
  };
}

/** Files are read each time: their tokens and secrets are rotated. */
async function proofOf(
  { client_secret_file: file, token_file: tokenFile }: Entra,
  secret: string | undefined,
): Promise<Record<string, string>> {
  if (tokenFile !== undefined)
    return { client_assertion_type: assertionType, client_assertion: await smallFile(tokenFile) };
  const known = file === undefined ? secret : await smallFile(file);
  if (known === undefined)
    throw new CredentialsError('the variable with the secret of the client is not set');
  return { client_secret: known };
}
