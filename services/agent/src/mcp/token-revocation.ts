import { assertSecureTokenEndpoint, selectClientAuthMethod } from '@modelcontextprotocol/client';
import type { egressFetch } from './egress-fetch.ts';
import type { OAuthBinding, RevocationEndpoint } from './oauth-binding.ts';

/** A token to revoke, and its kind as requests name it (RFC 7009, 2.1). */
export interface RevokedToken {
  token: string;
  kind: 'refresh_token' | 'access_token';
}

type Fetch = ReturnType<typeof egressFetch>;

const most = { chars: 2_000, methods: 20 };

/** `fetch` keeping the metadata of OpenID providers, because the SDK drops their endpoint for revocations. */
export function keepingMetadata(send: Fetch): { fetchFn: Fetch; metadata: () => object } {
  let metadata: object = {};
  const fetchFn: Fetch = async (url, init) => {
    const response = await send(url, init);
    if (response.ok && new URL(url).pathname.includes('/.well-known/openid-configuration'))
      metadata = Object(await response.clone().json()) as object;
    return response;
  };
  return { fetchFn, metadata: () => metadata };
}

/**
 * The endpoint of the metadata; null without a usable one, since logins don't need it. It gets refresh tokens and the
 * secret of the client, so it must have the origin of the endpoint for tokens: the metadata of a hostile server may
 * name an honest one for all else.
 */
export function revocationEndpointOf(metadata: object): RevocationEndpoint | null {
  const {
    revocation_endpoint: url,
    token_endpoint: tokenUrl,
    revocation_endpoint_auth_methods_supported: revocationMethods,
    token_endpoint_auth_methods_supported: tokenMethods,
  } = metadata as Record<string, unknown>;
  if (typeof url !== 'string' || url.length > most.chars || !URL.canParse(url)) return null;
  if (new URL(url).origin !== new URL(String(tokenUrl)).origin) return null;
  const methods = [revocationMethods ?? tokenMethods ?? []]
    .flat()
    .filter((method) => typeof method === 'string');
  return { url, methods: methods.slice(0, most.methods).map((method) => method.slice(0, most.chars)) };
}

/**
 * The request to revoke a token, by the client of a binding; null if the authorization server has no endpoint for it.
 * Throws if the endpoint would get the token in the clear.
 */
export function revocationRequest(
  { revocation = null, client }: OAuthBinding,
  { token, kind }: RevokedToken,
): { url: URL; init: RequestInit & { body: URLSearchParams } } | null {
  if (revocation === null) return null;
  const { client_id: id, client_secret: secret } = client;
  const method = secret === undefined ? 'none' : selectClientAuthMethod(client, revocation.methods);
  const body = new URLSearchParams({
    ...{ token, token_type_hint: kind },
    ...(method !== 'client_secret_basic' && { client_id: id }),
    ...(method === 'client_secret_post' && secret !== undefined && { client_secret: secret }),
  });
  const basic = `Basic ${Buffer.from(`${id}:${secret ?? ''}`).toString('base64')}`;
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(method === 'client_secret_basic' && { authorization: basic }),
  };
  return { url: assertSecureTokenEndpoint(revocation.url), init: { method: 'POST', headers, body } };
}
