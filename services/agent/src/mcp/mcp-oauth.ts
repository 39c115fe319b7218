import { createHash } from 'node:crypto';
import {
  checkResourceAllowed,
  ClientCredentialsProvider,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  fetchToken,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  type AuthorizationServerMetadata,
  type OAuthClientInformation,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import type { Egress } from '@gatehouse/egress/egress';
import type { Guard } from '@gatehouse/egress/guard';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { egressFetch } from './egress-fetch.ts';
import { mcpFailure, McpFailure } from './failure.ts';
import type { AuthSecrets, PublicAuth } from './mcp-server.ts';
import type { OAuthBinding } from './oauth-binding.ts';
import { smallJsonFetch, statusFetch, tokenFetch } from './small-json.ts';
import {
  keepingMetadata,
  revocationEndpointOf,
  revocationRequest,
  type RevokedToken,
} from './token-revocation.ts';
import { workDeadlineMs } from '@gatehouse/kit/bounds';
import { maxMetadataBytes, maxSecretChars, maxTokenS, maxUrlPartChars, stepMs } from '../bounds.ts';

export interface Tokens {
  accessToken: string;
  refreshToken: string | null;
  /** Null if the server does not say it. */
  expiresInS: number | null;
}

/** The ways of `PublicAuth` with OAuth. */
export type OAuthSettings = Extract<PublicAuth, { type: 'oauth' | 'oauth_client_credentials' }>;

const unknownClient: string = OAuthErrorCode.InvalidClient;

/** The authorization server gives no tokens: another attempt would get the same answer. */
export class OAuthRefused extends Error {
  /** Whether it does not know the client. */
  readonly isUnknownClient: boolean;

  constructor(error: OAuthError) {
    // Not its description, which is a text of the server.
    super(`The authorization server refused: ${error.code}.`);
    this.isUnknownClient = error.code === unknownClient;
  }
}

/** The answer to a consent names another authorization server than the one asked (RFC 9207). */
export class OAuthMixedUp extends Error {
  constructor() {
    super('The answer is of another authorization server.');
  }
}

export interface BindWith {
  tenantId: string;
  /** The secret of the tenant's own client. */
  secret: string | null;
  /** The binding found before. */
  known: OAuthBinding | null;
}

export interface OAuthClientOptions {
  egress: Egress;
  guard: Guard;
  /** The URL at which clients reach the gateway; empty if it is not known. */
  publicUrl: string;
}

export const callbackPath = '/v1/mcp/oauth/callback';

/** Searches for authorization servers under way, of a tenant. */
const bindings = { perKey: 4, maxWaiting: 1_000 };
/** Answers without a verdict on the grant. */
const passing: ReadonlySet<string> = new Set([
  OAuthErrorCode.ServerError,
  OAuthErrorCode.TemporarilyUnavailable,
  OAuthErrorCode.TooManyRequests,
]);

/** Speaks with the authorization servers of MCP servers, by the MCP authorization rules, through the guard. */
export class OAuthClient {
  readonly #options: OAuthClientOptions;
  readonly #turns = new FairQueue(bindings);

  constructor(options: OAuthClientOptions) {
    this.#options = options;
  }

  /** Whether browsers could come back. */
  get canConsent(): boolean {
    return this.#options.publicUrl !== '';
  }

  get #redirectUrl(): string {
    return this.#options.publicUrl + callbackPath;
  }

  /**
   * Finds the authorization server of an MCP server. If the tenant has no client id, the gateway registers itself,
   * unless `known` is of the same authorization server. Throws `McpFailure`.
   */
  bind(url: string, auth: OAuthSettings, { tenantId, ...by }: BindWith): Promise<OAuthBinding> {
    return this.#inTurn(tenantId, (fetchFn) => this.#bound(url, auth, { ...by, fetchFn }));
  }

  /** Makes the checks of `bind`, without registering at the authorization server. */
  async check(url: string, auth: OAuthSettings, tenantId: string): Promise<void> {
    const { metadata } = await this.#inTurn(tenantId, (fetchFn) => this.#discover(url, auth, fetchFn));
    if (auth.clientId !== null) return;
    const { registration_endpoint: registration } = metadata;
    if (registration === undefined) throw new McpFailure('invalid');
    await this.#checkEndpoint(registration);
  }

  #inTurn<Result>(tenantId: string, work: (fetchFn: Fetch) => Promise<Result>): Promise<Result> {
    const limit = AbortSignal.timeout(stepMs);
    const step = (): Promise<Result> => this.#step(tenantId, work);
    return this.#turns.run(tenantId, step, limit).catch((error: unknown) => {
      throw limit.aborted ? new McpFailure('timeout', { cause: error }) : refusedToFailure(error);
    });
  }

  async #bound(
    url: string,
    auth: OAuthSettings,
    { secret, known, fetchFn }: Omit<BindWith, 'tenantId'> & { fetchFn: Fetch },
  ): Promise<OAuthBinding> {
    const { bound, metadata, authorizationServerUrl } = await this.#discover(url, auth, fetchFn);
    if (auth.clientId !== null)
      return {
        ...bound,
        client: { client_id: auth.clientId, ...(secret !== null && { client_secret: secret }) },
      };
    const isKnown = known?.metadata.issuer === metadata.issuer && known.redirectUrl === this.#redirectUrl;
    if (isKnown) return { ...bound, client: known.client, registration: known.registration };
    const client = await this.#register(authorizationServerUrl, metadata, { scope: bound.scope, fetchFn });
    return { ...bound, client, registration: metadata.registration_endpoint };
  }

  async #discover(url: string, auth: OAuthSettings, fetchFn: Fetch) {
    const { resourceMetadataUrl, scope: challengedScope } = await challengeOf(url, fetchFn);
    const documents = keepingMetadata(fetchFn);
    const discovered = await discoverOAuthServerInfo(url, {
      fetchFn: documents.fetchFn,
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    });
    const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = discovered;
    const resource = resourceMetadata?.resource ?? null;
    // Tokens for another resource would go to the wrong server.
    if (metadata === undefined || (resource !== null && !isResourceOf(url, resource)))
      throw new McpFailure('invalid');
    const named = challengedScope ?? resourceMetadata?.scopes_supported?.join(' ') ?? null;
    // Without any, the authorization server gives its own.
    const scope = auth.scope ?? (named !== null && named.length > maxUrlPartChars ? null : named);
    const pinned = await this.#pin(metadata, auth);
    const revocation = revocationEndpointOf({ ...documents.metadata(), ...metadata });
    const bound = { metadata: pinned, revocation, resource, scope, redirectUrl: this.#redirectUrl };
    return { bound, metadata, authorizationServerUrl };
  }

  /** The URL at which a browser consents. */
  authorizationUrl(
    { metadata, client, resource, scope, redirectUrl }: OAuthBinding,
    { state, verifier }: { state: string; verifier: string },
  ): string {
    const url = new URL(metadata.authorization_endpoint);
    const parameters = {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: redirectUrl,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(scope !== null && { scope }),
      ...(resource !== null && { resource }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** The first tokens. Throws `OAuthRefused`, `OAuthMixedUp` and `McpFailure`. */
  exchange(
    tenantId: string,
    { metadata, client, resource, redirectUrl }: OAuthBinding,
    { code, verifier, iss }: { code: string; verifier: string; iss: string | null },
  ): Promise<Tokens> {
    return this.#ask(tenantId, (fetchFn) =>
      exchangeAuthorization(metadata.issuer, {
        ...{ metadata, clientInformation: client, authorizationCode: code, codeVerifier: verifier, fetchFn },
        redirectUri: redirectUrl,
        ...(iss !== null && { iss }),
        ...(resource !== null && { resource }),
      }),
    );
  }

  /** New tokens for a refresh token, which may be good for this once. Throws as {@link exchange}. */
  refresh(
    tenantId: string,
    { metadata, client, resource }: OAuthBinding,
    refreshToken: string,
  ): Promise<Tokens> {
    return this.#ask(tenantId, (fetchFn) =>
      refreshAuthorization(metadata.issuer, {
        ...{ metadata, clientInformation: client, refreshToken, fetchFn },
        ...(resource !== null && { resource }),
      }),
    );
  }

  /** A token for the client itself. Throws `McpFailure`: `unauthorized` if it is refused. */
  async clientCredentials(
    tenantId: string,
    { metadata, client, resource, scope }: OAuthBinding,
  ): Promise<Tokens> {
    const { client_id: clientId, client_secret: clientSecret = '' } = client;
    const expectedIssuer = metadata.issuer;
    const provider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer });
    const refreshed = this.#ask(tenantId, (fetchFn) =>
      fetchToken(provider, metadata.issuer, {
        ...{ metadata, fetchFn },
        ...(scope !== null && { scope }),
        ...(resource !== null && { resource }),
      }),
    );
    return refreshed.catch((error: unknown) => {
      throw refusedToFailure(error);
    });
  }

  /** Revokes a token (RFC 7009). False if the authorization server has no endpoint for it. Throws `McpFailure`. */
  revoke(tenantId: string, binding: OAuthBinding, token: RevokedToken): Promise<boolean> {
    const revoked = async (fetchFn: Fetch): Promise<boolean> => {
      const request = revocationRequest(binding, token);
      if (request === null) return false;
      const { ok, status } = await fetchFn(request.url, request.init);
      if (!ok) throw new McpFailure(status >= 500 ? 'unreachable' : 'invalid');
      return true;
    };
    return this.#step(tenantId, revoked, statusFetch);
  }

  /** The kept part of the metadata. Its endpoints are under the guard, even the one opened by browsers only. */
  async #pin(
    metadata: AuthorizationServerMetadata,
    auth: OAuthSettings,
  ): Promise<AuthorizationServerMetadata> {
    const {
      issuer,
      authorization_endpoint,
      token_endpoint,
      code_challenge_methods_supported: methods,
    } = metadata;
    if (auth.type === 'oauth' && methods?.includes('S256') === false) throw new McpFailure('invalid');
    if ([issuer, authorization_endpoint, token_endpoint].some((url) => url.length > maxUrlPartChars))
      throw new McpFailure('invalid');
    const endpoints = auth.type === 'oauth' ? [authorization_endpoint, token_endpoint] : [token_endpoint];
    for (const endpoint of endpoints) await this.#checkEndpoint(endpoint);
    const { token_endpoint_auth_methods_supported, authorization_response_iss_parameter_supported } =
      metadata;
    return {
      ...{ issuer, authorization_endpoint, token_endpoint, response_types_supported: ['code'] },
      ...(token_endpoint_auth_methods_supported !== undefined && { token_endpoint_auth_methods_supported }),
      ...(authorization_response_iss_parameter_supported !== undefined && {
        authorization_response_iss_parameter_supported,
      }),
    };
  }

  async #checkEndpoint(endpoint: string): Promise<void> {
    await this.#options.guard.check(endpoint, 'url').catch((error: unknown) => {
      throw error instanceof AppError ? new McpFailure('unreachable', { cause: error }) : error;
    });
  }

  async #register(
    authorizationServerUrl: string,
    metadata: AuthorizationServerMetadata,
    { scope, fetchFn }: { scope: string | null; fetchFn: Fetch },
  ): Promise<OAuthClientInformation> {
    // oxlint-disable-next-line typescript/no-deprecated -- servers before 2026-07-28 have no other way
    const { client_id, client_secret, token_endpoint_auth_method } = await registerClient(
      authorizationServerUrl,
      {
        ...{ metadata, fetchFn },
        clientMetadata: {
          client_name: 'Gatehouse',
          redirect_uris: [this.#redirectUrl],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          application_type: 'web',
        },
        ...(scope !== null && { scope }),
      },
    );
    const secretChars = client_secret?.length ?? 0;
    if (!isToken(client_id) || client_id.length > maxUrlPartChars || secretChars > maxSecretChars)
      throw new McpFailure('invalid');
    return {
      client_id,
      ...(client_secret !== undefined && { client_secret }),
      ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
    };
  }

  async #ask(tenantId: string, request: (fetchFn: Fetch) => Promise<OAuthTokens>): Promise<Tokens> {
    const response = await this.#step(tenantId, request, tokenFetch);
    const { access_token: accessToken, refresh_token: refreshToken = null, expires_in: seconds } = response;
    if (!isToken(accessToken) || (refreshToken !== null && !isToken(refreshToken)))
      throw new McpFailure('invalid');
    return {
      accessToken,
      refreshToken,
      expiresInS: seconds === undefined ? null : Math.min(Math.max(1, seconds), maxTokenS),
    };
  }

  async #step<Result>(
    tenantId: string,
    work: (fetchFn: Fetch) => Promise<Result>,
    read = smallJsonFetch,
  ): Promise<Result> {
    const limit = AbortSignal.timeout(stepMs);
    const send = read(
      egressFetch({
        egress: this.#options.egress,
        tenantId,
        timeoutMs: workDeadlineMs,
        maxBytes: maxMetadataBytes,
      }),
    );
    try {
      return await work((url, init) => send(url, { ...init, signal: limit }));
    } catch (error) {
      if (IssuerMismatchError.isInstance(error) && error.kind === 'authorization_response')
        throw new OAuthMixedUp();
      if (OAuthError.isInstance(error) && !passing.has(error.code)) throw new OAuthRefused(error);
      // Not as a cause: its message may be what the server sent, with a copy of the request's secrets.
      throw new McpFailure(limit.aborted ? 'timeout' : mcpFailure(error).kind);
    }
  }
}

/** Makes a refusal a failure, if nothing depends on its reason. */
function refusedToFailure(error: unknown): unknown {
  return error instanceof OAuthRefused ? new McpFailure('unauthorized') : error;
}

function isResourceOf(url: string, resource: string): boolean {
  return checkResourceAllowed({
    requestedResource: resourceUrlFromServerUrl(url),
    configuredResource: resource,
  });
}

type Fetch = ReturnType<typeof egressFetch>;

/** The answer of a server to a request without a token. */
async function challengeOf(
  url: string,
  fetchFn: Fetch,
): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const response = await fetchFn(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
}

function isToken(text: string): boolean {
  return text.length <= maxSecretChars && /^[\x21-\x7e]+$/.test(text);
}

/** The client secret among the secrets of a server. */
export function clientSecretOf(secrets: AuthSecrets | null): string | null {
  return secrets !== null && 'client_secret' in secrets ? (secrets.client_secret ?? null) : null;
}
