import { storableText } from '@gatehouse/contract/fields';
import { z } from 'zod';
import type { Claims } from './claim-path.ts';
import { IssuerError, issuerError } from './issuer-error.ts';
import type { Egress } from '@gatehouse/egress/egress';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import {
  createRemoteJWKSet,
  customFetch as keyFetch,
  decodeJwt,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import { clockToleranceSeconds, maxTokenLength, maxLogoutSeconds, maxHintLength } from '../bounds.ts';
import * as client from 'openid-client';
import { guardedFetch, idTokenApart } from './guarded-fetch.ts';
import type { IssuerSettings } from './issuer-settings.ts';
import { addedClaims, fetchUserInfo, missingClaims } from './user-info.ts';

/** Values that bind an answer of the issuer to the browser of the request. */
export interface LoginChecks {
  state: string;
  nonce: string;
  verifier: string;
}

/** A person as an issuer has confirmed them. */
export interface ConfirmedLogin {
  iss: string;
  sub: string;
  /** The session at the issuer, where it says one. */
  sid: string | null;
  /** Members of the ID token, and of user info where the token lacks them. */
  claims: Claims;
  /** The claims of the settings that are from user info; empty if it wasn't asked for. */
  userInfo: Claims;
  /** The failure of user info by which claims of mappings may be missing, as of an issuer that is away. */
  userInfoFailure: IssuerError | null;
  idToken: string;
  refreshToken: string | null;
}

/** A refresh token, and its issuer. */
export interface IssuedToken {
  iss: string;
  refreshToken: string;
}

/** The issuer's tokens for a refresh token. */
export interface RenewedTokens {
  /** Null where the old one stays good. */
  refreshToken: string | null;
  /** Null where the issuer confirms no more than the login itself (OpenID Connect Core, 12.2). */
  idToken: string | null;
  accessToken: string;
}

export interface IssuerOptions {
  settings: IssuerSettings;
  egress: Egress;
  publicUrl: string;
}

/**
 * For hosts allowed by the operator; the guard rejects all others. The library marks it as deprecated to be noticed,
 * and keeps it.
 */
// oxlint-disable-next-line typescript/no-deprecated
const overHttp = client.allowInsecureRequests;

interface DiscoveredIssuer {
  config: client.Configuration;
  findKey: JWTVerifyGetKey;
}

const timeoutSeconds = 10;
/** By public keys alone: the client's secret signs nothing. */
const algorithms = ['RS', 'PS', 'ES'].flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`));
/** Keys are fetched again for a token of an unknown key, but not for each token of a flood. */
const keys = { cooldownDuration: 1_000, cacheMaxAge: 10 * 60_000, timeoutDuration: 8_000 };

/** One OpenID Connect issuer. Its metadata and keys are cached; an hour is short beside their life. */
export class Issuer {
  readonly settings: IssuerSettings;
  readonly #options: IssuerOptions;
  readonly #fetch: ReturnType<typeof guardedFetch>;
  readonly #known = new OutageCache<DiscoveredIssuer>({
    ...{ max: 1, freshMs: 3_600_000, outageMs: 24 * 3_600_000 },
    isOutage: (error) => error instanceof IssuerError && error.failure === 'away',
  });

  constructor(options: IssuerOptions) {
    this.settings = options.settings;
    this.#options = options;
    this.#fetch = guardedFetch(options.egress);
  }

  get callbackUrl(): string {
    return `${this.#options.publicUrl}/login/oidc/${this.settings.name}/callback`;
  }

  /** The page of the issuer where the person logs in. Throws {@link IssuerError}. */
  async authorizationUrl({ state, nonce, verifier }: LoginChecks): Promise<string> {
    const { config } = await this.#find();
    return client.buildAuthorizationUrl(config, {
      ...{ state, nonce, redirect_uri: this.callbackUrl, scope: this.settings.scopes.join(' ') },
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /** Exchanges the code of the answer, brought back by a browser as a query. Throws {@link IssuerError}. */
  async finish(query: string, checks: LoginChecks): Promise<ConfirmedLogin> {
    const discovery = await this.#find();
    const { config, findKey } = discovery;
    try {
      const tokens = await client.authorizationCodeGrant(config, new URL(`${this.callbackUrl}?${query}`), {
        ...{ expectedState: checks.state, expectedNonce: checks.nonce },
        ...{ pkceCodeVerifier: checks.verifier, idTokenExpected: true },
      });
      const idToken = tokens.id_token ?? '';
      const claims = await this.#verify(idToken, config, findKey, { maxTokenAge: 0 });
      if (claims['nonce'] !== checks.nonce) throw new IssuerError('refused', 'The nonce differs.');
      const login = confirmed(claims, idToken, tokens.refresh_token ?? null);
      return { ...login, ...(await this.#withUserInfo(discovery, claims, tokens.access_token)) };
    } catch (error) {
      throw issuerError(error);
    }
  }

  /** Asks the issuer whether a login stands. {@link claimsOf} checks the ID token. Throws {@link IssuerError}. */
  async renew({ iss, refreshToken }: IssuedToken): Promise<RenewedTokens> {
    if (!this.#gave(iss)) throw new IssuerError('away', 'The login is of another issuer.');
    const { config } = await this.#find();
    const { fetch, idToken } = idTokenApart(this.#fetch);
    try {
      const configuration = this.#configured(config.serverMetadata(), fetch);
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      const { refresh_token: next, access_token: accessToken } = tokens;
      return { refreshToken: next ?? null, idToken: idToken(), accessToken };
    } catch (error) {
      throw issuerError(error);
    }
  }

  /**
   * Ends a refresh token at the issuer. False if it has no endpoint for revocations, or another issuer gave the token.
   * Throws {@link IssuerError}.
   */
  async revoke({ iss, refreshToken }: IssuedToken): Promise<boolean> {
    if (!this.#gave(iss)) return false;
    const { config } = await this.#find();
    if (config.serverMetadata().revocation_endpoint === undefined) return false;
    try {
      await client.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
      return true;
    } catch (error) {
      throw issuerError(error);
    }
  }

  /**
   * The claims of a person by renewed tokens; null where there is no ID token, and user info doesn't have all claims of
   * the settings. Throws {@link IssuerError}.
   */
  async claimsOf(
    { idToken, accessToken }: Pick<RenewedTokens, 'idToken' | 'accessToken'>,
    sub: string,
  ): Promise<Pick<ConfirmedLogin, 'claims' | 'userInfoFailure'> | null> {
    const discovery = await this.#find();
    if (idToken === null) {
      // As without the endpoint: the issuer has confirmed the login.
      const info = await this.#userInfo(discovery, accessToken, sub).catch(() => null);
      const isWhole = info !== null && missingClaims(info, this.settings).length === 0;
      return isWhole ? { claims: info, userInfoFailure: null } : null;
    }
    try {
      const claims = await this.#verify(idToken, discovery.config, discovery.findKey, { maxTokenAge: 0 });
      if (claims['sub'] !== sub) throw new IssuerError('refused', 'The token is for another person.');
      return await this.#withUserInfo(discovery, claims, accessToken);
    } catch (error) {
      throw issuerError(error);
    }
  }

  /** Verifies a logout token. Throws {@link IssuerError}. */
  async verifyLogout(token: string): Promise<IssuerLogout> {
    const { config, findKey } = await this.#find();
    try {
      return logoutOf(await this.#verify(token, config, findKey, { maxTokenAge: maxLogoutSeconds }));
    } catch (error) {
      throw issuerError(error);
    }
  }

  /** The page where a person logs out at the issuer. Null without one, and while it can't be reached to name it. */
  async logoutUrl(idToken: string): Promise<string | null> {
    if (!this.#gave(String(claimsIn(idToken)['iss']))) return null;
    try {
      const { config } = await this.#find();
      if (config.serverMetadata().end_session_endpoint === undefined) return null;
      const { href, protocol } = client.buildEndSessionUrl(config, {
        post_logout_redirect_uri: `${this.#options.publicUrl}/login`,
        ...(idToken.length <= maxHintLength && { id_token_hint: idToken }),
      });
      return protocol === 'https:' || protocol === 'http:' ? href : null;
    } catch {
      return null;
    }
  }

  /**
   * The members of a verified ID token, with claims of the settings from user info that it lacks. A login needs the groups
   * and the user; claims of mappings alone only add rights, so it goes on without them if user info fails.
   */
  async #withUserInfo(
    discovery: DiscoveredIssuer,
    claims: Claims,
    accessToken: string,
  ): Promise<Pick<ConfirmedLogin, 'claims' | 'userInfo' | 'userInfoFailure'>> {
    const { userinfo_endpoint: endpoint } = discovery.config.serverMetadata();
    const missing = missingClaims(claims, this.settings);
    if (missing.length === 0 || endpoint === undefined)
      return { claims, userInfo: {}, userInfoFailure: null };
    const { groups_claim: groups, user_claim: user } = this.settings;
    const isNeeded = missing.includes(groups) || missing.includes(user);
    let info: Claims | null = null;
    let userInfoFailure: IssuerError | null = null;
    try {
      info = await this.#userInfo(discovery, accessToken, String(claims['sub']));
    } catch (cause) {
      if (isNeeded) throw cause;
      userInfoFailure = new IssuerError('away', 'The issuer returned no user info.', { cause });
    }
    if (info === null && isNeeded)
      throw new IssuerError('away', 'The issuer does not take its access token for user info.');
    const userInfo = addedClaims(claims, info ?? {}, missing);
    return { claims: { ...info, ...claims, ...userInfo }, userInfo, userInfoFailure };
  }

  /** Null without the endpoint, and where it takes no token of this client. */
  async #userInfo(
    { config, findKey }: DiscoveredIssuer,
    accessToken: string,
    sub: string,
  ): Promise<Claims | null> {
    const { userinfo_endpoint: endpoint } = config.serverMetadata();
    if (endpoint === undefined) return null;
    // Without the checks of a token: the endpoint answers this gateway alone, and members such as `aud` are optional.
    const verify = async (jwt: string): Promise<Claims> =>
      (await jwtVerify(jwt, findKey, { algorithms })).payload;
    return fetchUserInfo({ fetch: this.#fetch, endpoint, accessToken, sub, verify });
  }

  /** Whether tokens of an issuer come from this one: the operator may have set another one by the same name. */
  #gave(iss: string): boolean {
    return URL.parse(iss)?.href === new URL(this.settings.issuer).href;
  }

  async #find(): Promise<DiscoveredIssuer> {
    return this.#known.get('', async () => {
      try {
        return await this.#discover();
      } catch (error) {
        // A wrong document is an outage too: it says nothing about a person.
        throw new IssuerError('away', 'The issuer is unavailable.', { cause: error });
      }
    });
  }

  async #discover(): Promise<DiscoveredIssuer> {
    const { issuer, client_id: clientId } = this.settings;
    const fetched = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      client.None(),
      {
        ...{ [client.customFetch]: this.#fetch, timeout: timeoutSeconds },
        ...(this.#isInsecure && { execute: [overHttp] }),
      },
    );
    const metadata = fetched.serverMetadata();
    if (new URL(metadata.issuer).href !== new URL(issuer).href)
      throw new Error(`the metadata of ${issuer} is that of another issuer`);
    if (metadata.jwks_uri === undefined) throw new Error(`the metadata of ${issuer} names no keys`);
    const config = this.#configured(metadata, this.#fetch);
    const findKey = createRemoteJWKSet(new URL(metadata.jwks_uri), { ...keys, [keyFetch]: this.#fetch });
    return { config, findKey };
  }

  get #isInsecure(): boolean {
    return this.settings.issuer.startsWith('http:');
  }

  #configured(metadata: client.ServerMetadata, fetch: client.CustomFetch): client.Configuration {
    const { client_id: clientId, clientSecret } = this.settings;
    const config = new client.Configuration(
      metadata,
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      authenticationOf(clientSecret, metadata.token_endpoint_auth_methods_supported),
    );
    config[client.customFetch] = fetch;
    config.timeout = timeoutSeconds;
    // oxlint-disable-next-line typescript/no-deprecated -- see overHttp
    if (this.#isInsecure) overHttp(config);
    return config;
  }

  /** The members of a token, if the issuer has signed it for this client. */
  async #verify(
    token: string,
    config: client.Configuration,
    findKey: JWTVerifyGetKey,
    { maxTokenAge }: { maxTokenAge?: number } = {},
  ): Promise<Claims> {
    if (token.length > maxTokenLength) throw new IssuerError('refused', 'The token is too long.');
    const { payload } = await jwtVerify(token, findKey, {
      ...{ algorithms, issuer: config.serverMetadata().issuer, audience: this.settings.client_id },
      ...{ clockTolerance: clockToleranceSeconds, requiredClaims: ['exp', 'iat'] },
      // With the tolerance: issued within a minute, before or after.
      ...(maxTokenAge !== undefined && { maxTokenAge }),
    });
    const { azp, aud } = payload;
    const isForUs = azp === undefined ? [aud].flat().length === 1 : azp === this.settings.client_id;
    if (!isForUs) throw new IssuerError('refused', 'The token is for another client.');
    return payload;
  }
}

/** The members of an already verified token. */
export function claimsIn(token: string): Claims {
  return decodeJwt(token);
}

function confirmed(
  claims: Claims,
  idToken: string,
  refreshToken: string | null,
): Omit<ConfirmedLogin, 'userInfo' | 'userInfoFailure'> {
  const { iss, sub, sid } = claims;
  const person = tokenId.safeParse(sub);
  if (typeof iss !== 'string' || !person.success)
    throw new IssuerError('refused', 'The token names no person.');
  const { data: session = null } = tokenId.safeParse(sid);
  return { iss, sub: person.data, sid: session, claims, idToken, refreshToken };
}

function authenticationOf(secret: string | undefined, methods: readonly string[] = []): client.ClientAuth {
  if (secret === undefined) return client.None();
  // Without a list, the basic scheme is meant (OpenID Connect Discovery, 3).
  const takesBasic = methods.length === 0 || methods.includes('client_secret_basic');
  return takesBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret);
}

/** A logout reported by an issuer: of a session, of a person, or of a session of a person. */
export interface IssuerLogout {
  iss: string;
  sub: string | null;
  sid: string | null;
  /** The id of the report. */
  jti: string;
}

/** The name of a person, a session or a report in a token. */
export const tokenId = storableText(1, 255);

const shape = z
  .looseObject({
    iss: z.string(),
    jti: tokenId,
    sub: tokenId.optional(),
    sid: tokenId.optional(),
    events: z.looseObject({ 'http://schemas.openid.net/event/backchannel-logout': z.looseObject({}) }),
    // An ID token can't be passed off as a logout token.
    nonce: z.never().optional(),
  })
  .refine(({ sub, sid }) => (sub ?? sid) !== undefined);

/**
 * The logout in the members of a verified token (OpenID Connect Back-Channel Logout, 2.6). Throws {@link IssuerError}
 * for any other token.
 */
export function logoutOf(claims: Claims): IssuerLogout {
  const parsed = shape.safeParse(claims);
  if (!parsed.success) throw new IssuerError('refused', 'The token is not a logout token.');
  const { iss, sub = null, sid = null, jti } = parsed.data;
  return { iss, sub, sid, jti };
}
