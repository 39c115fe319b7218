import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { sameText } from '@gatehouse/public-access/same-text';
import { McpFailure } from '../mcp/failure.ts';
import type { McpRegistryOptions } from '../mcp/mcp-registry.ts';
import { authProblemOf, isPerUser, loginUserOf, type McpServerHead } from '../mcp/mcp-server.ts';
import { headersOf } from '../mcp/server-access.ts';
import type { OAuthBinding } from '../mcp/oauth-binding.ts';
import {
  clientSecretOf,
  OAuthRefused,
  type OAuthClient,
  type OAuthSettings,
  type Tokens,
} from '../mcp/mcp-oauth.ts';
import type { SealedColumn } from '../secrets/sealed-column.ts';
import type { RevocableTokens, LoginRevocations, TokenOwner } from './login-revocations.ts';
import type { EndedLogin, Login, LoginOf, LoginRef, NewLogin } from './login.ts';
import type { LoginStore } from './login-store.ts';
import type { ServerSecrets } from './server-secrets.ts';
import { pollMs, refreshAgainS, refreshWaitMs } from '../bounds.ts';

/** The secret parts of a login. */
interface LoginSecrets extends RevocableTokens {
  grant: 'authorization_code' | 'client_credentials';
}

export interface LoginsOptions {
  store: LoginStore;
  oauth: OAuthClient;
  /** Encrypts the secrets of logins. */
  column: SealedColumn;
  serverSecrets: ServerSecrets;
  revocations: LoginRevocations;
  log: Logger;
}

/**
 * The logins at servers with OAuth. A refresh token may be good for one refresh, so one request of all replicas makes
 * it, and the others wait for its tokens.
 */
export class Logins {
  readonly #options: LoginsOptions;
  readonly #firsts = new SharedCalls<LoginRef>();
  readonly #renewals = new SharedCalls<string>();

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  /** The login for calls as `userId` (empty: as the tenant). Throws `McpFailure` `needs_consent` without one. */
  async refOf(server: McpServerHead, userId: string): Promise<LoginRef> {
    const { id: serverId, tenantId, connectionId, auth } = server;
    const owner = { tenantId, serverId, connectionId, userId };
    const known = await this.#options.store.findOf(owner);
    if (known !== null && !known.isLost) return known;
    if (auth.type !== 'oauth_client_credentials') throw new McpFailure('needs_consent');
    return this.#firsts.get(connectionId, async () => {
      // The client's secret goes only to its own authorization server.
      const binding = known === null ? await this.#bind(server, auth) : this.#open(known).binding;
      return this.#logIn(owner, binding);
    });
  }

  /** The authorization server as it is now, and the client, for a consent. Throws `McpFailure`. */
  async bindFor(server: McpServerHead, auth: OAuthSettings): Promise<OAuthBinding> {
    const { serverSecrets, store } = this.#options;
    const binding = await this.#bind(server, auth);
    const after = auth.clientId === null ? serverSecrets.seal(server, { binding }) : null;
    if (after !== null) await store.replaceSecrets(server, { before: server.secrets, after });
    return binding;
  }

  /** A client of the tenant is for one issuer, which gets its secret and codes. */
  async #bind(server: McpServerHead, auth: OAuthSettings): Promise<OAuthBinding> {
    const { oauth, serverSecrets, store } = this.#options;
    const secrets = server.secrets === null ? null : serverSecrets.open(server, server.secrets);
    const known = secrets !== null && 'binding' in secrets ? secrets.binding : null;
    const binding = await oauth.bind(server.url, auth, {
      tenantId: server.tenantId,
      secret: clientSecretOf(secrets),
      known,
    });
    if (auth.clientId !== null) await store.bindIssuer(server, binding.metadata.issuer);
    return binding;
  }

  /** The access token of a login, refreshed if due. Throws `McpFailure`. */
  async token(login: LoginRef): Promise<string> {
    const known = await this.#find(login);
    const { accessToken } = this.#open(known);
    if (!known.isRefreshDue) return accessToken;
    if (known.isExpired) return this.renew(login, accessToken);
    // It still counts, while another request refreshes it, or the authorization server is away.
    const claim = newId();
    if (!(await this.#options.store.claimRefresh(known, claim))) return accessToken;
    return this.#refresh(known, claim).catch((error: unknown) => {
      if (error instanceof McpFailure && !isLoss(error)) return accessToken;
      throw error;
    });
  }

  /** Another token than `refused`. One wait in this process serves all callers. Throws `McpFailure`. */
  renew(login: LoginRef, refused: string): Promise<string> {
    return this.#renewals.get(`${login.id} ${refused}`, () => this.#renew(login, refused));
  }

  async #renew(login: LoginRef, refused: string): Promise<string> {
    const deadline = monotonicMs() + refreshWaitMs;
    while (monotonicMs() < deadline) {
      const known = await this.#find(login);
      const { accessToken } = this.#open(known);
      if (!sameText(accessToken, refused)) return accessToken;
      const claim = newId();
      if (await this.#options.store.claimRefresh(known, claim)) return this.#refresh(known, claim);
      await sleep(pollMs);
    }
    throw new McpFailure('timeout');
  }

  /** The row of a login after a consent. */
  made(owner: LoginOf & { madeAt: Date }, binding: OAuthBinding, tokens: Tokens): NewLogin {
    return this.#made(owner, { binding, grant: 'authorization_code' }, tokens);
  }

  /** Revokes the tokens of logins no longer stored. Returns at once. */
  ended(logins: readonly EndedLogin[]): void {
    for (const login of logins) this.#options.revocations.revoke(login, () => this.#open(login));
  }

  /** Removes up to `limit` logins of a user and revokes their tokens. Returns how many. */
  async forget(deletion: Parameters<LoginStore['forget']>[0], limit: number): Promise<number> {
    const forgotten = await this.#options.store.forget(deletion, limit);
    this.ended(forgotten);
    return forgotten.length;
  }

  /** Revokes the tokens of a late consent. Returns at once. */
  late(owner: TokenOwner, binding: OAuthBinding, { accessToken, refreshToken }: Tokens): void {
    this.#options.revocations.revoke(owner, () => ({ binding, accessToken, refreshToken }));
  }

  /** Forgets the client of a server after its authorization server did. */
  forgetClient({ tenantId, id: serverId }: McpServerHead): Promise<void> {
    return this.#options.store.forgetClient({ tenantId, serverId });
  }

  async #find(login: LoginRef): Promise<Login> {
    const known = await this.#options.store.find(login);
    // Another one may have come.
    if (known === null) throw new McpFailure('session');
    if (known.isLost) throw new McpFailure('needs_consent');
    return known;
  }

  #open(login: LoginRef & Pick<Login, 'secrets'>): LoginSecrets {
    return JSON.parse(this.#options.column.open(login, login.secrets)) as LoginSecrets;
  }

  #made(
    owner: LoginOf & { madeAt?: Date },
    by: Pick<LoginSecrets, 'binding' | 'grant'>,
    tokens: Tokens,
  ): NewLogin {
    const row = { madeAt: null, ...owner, id: newId() };
    return { ...row, secrets: this.#seal(row, by, tokens), ...timesOf(by.grant, tokens) };
  }

  #seal(
    login: LoginRef,
    { binding, grant }: Pick<LoginSecrets, 'binding' | 'grant'>,
    { accessToken, refreshToken }: Tokens,
  ): Buffer {
    const secrets: LoginSecrets = { accessToken, refreshToken, binding, grant };
    return this.#options.column.seal(login, JSON.stringify(secrets));
  }

  async #logIn(owner: LoginOf, binding: OAuthBinding): Promise<LoginRef> {
    const tokens = await this.#options.oauth.clientCredentials(owner.tenantId, binding);
    const login = this.#made(owner, { binding, grant: 'client_credentials' }, tokens);
    return this.#options.store.putFirst(login);
  }

  async #refresh(login: Login, claim: string): Promise<string> {
    const { store, log } = this.#options;
    const secrets = this.#open(login);
    try {
      const fresh = await this.#freshTokens(login.tenantId, secrets);
      const sealed = { secrets: this.#seal(login, secrets, fresh), ...timesOf(secrets.grant, fresh) };
      const isStored = await store.refreshed(login, claim, sealed);
      if (isStored) return fresh.accessToken;
      // The login is gone, or another one has come.
      if (secrets.grant === 'authorization_code') this.late(login, secrets.binding, fresh);
      return await this.token(login);
    } catch (error) {
      if (error instanceof OAuthRefused && error.isUnknownClient) await store.forgetClient(login);
      const failure =
        error instanceof OAuthRefused ? new McpFailure('needs_consent', { cause: error }) : error;
      if (!isLoss(failure)) {
        await store.release(login, claim, refreshAgainS);
        throw failure;
      }
      const { serverId, tenantId } = login;
      log.info({ mcp_server_id: serverId, tenant_id: tenantId }, 'a login at an MCP server is lost');
      await store.lose(login, claim);
      throw failure;
    }
  }

  async #freshTokens(tenantId: string, { grant, refreshToken, binding }: LoginSecrets): Promise<Tokens> {
    const { oauth } = this.#options;
    if (grant === 'client_credentials') return oauth.clientCredentials(tenantId, binding);
    if (refreshToken === null) throw new McpFailure('needs_consent');
    return oauth.refresh(tenantId, binding, refreshToken);
  }
}

/** A token without renewal is used until its end. */
function timesOf(
  grant: LoginSecrets['grant'],
  { refreshToken, expiresInS }: Tokens,
): Pick<NewLogin, 'expiresInS' | 'isRenewable'> {
  return { expiresInS, isRenewable: grant === 'client_credentials' || refreshToken !== null };
}

function isLoss(error: unknown): boolean {
  return error instanceof McpFailure && (error.kind === 'needs_consent' || error.kind === 'unauthorized');
}

/** Finds out how requests to a server are authenticated. */
export function accessOf(logins: Logins, serverSecrets: ServerSecrets): McpRegistryOptions['accessOf'] {
  return async (server, user) => {
    const { auth, secrets } = server;
    if (authProblemOf(server) !== null)
      throw new McpFailure(server.otherIssuer === null ? 'unauthorized' : 'other_issuer');
    if (auth.type === 'oauth' || auth.type === 'oauth_client_credentials') {
      if (isPerUser(server) && user === null) throw new McpFailure('needs_consent');
      const { tenantId, id } = await logins.refOf(server, loginUserOf(server, user));
      const login = { tenantId, id };
      const tokens = {
        current: () => logins.token(login),
        renew: (refused: string) => logins.renew(login, refused),
      };
      return { loginId: id, headers: {}, tokens };
    }
    const opened = secrets === null ? null : serverSecrets.open(server, secrets);
    return { loginId: null, headers: headersOf(opened), tokens: null };
  };
}
