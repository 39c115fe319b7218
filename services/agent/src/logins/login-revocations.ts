import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { UnawaitedWork } from '@gatehouse/kit/unawaited-work';
import { McpFailure } from '../mcp/failure.ts';
import type { OAuthBinding } from '../mcp/oauth-binding.ts';
import type { OAuthClient, Tokens } from '../mcp/mcp-oauth.ts';
import type { RevokedToken } from '../mcp/token-revocation.ts';
import type { LoginOf } from './login.ts';
import { maxRevocations } from '../bounds.ts';

/** Tokens of a consent, and its terms. */
export interface RevocableTokens extends Pick<Tokens, 'accessToken' | 'refreshToken'> {
  binding: OAuthBinding;
}

/** The user at a server for whom tokens were given. */
export type TokenOwner = Pick<LoginOf, 'tenantId' | 'serverId' | 'userId'>;

export interface LoginRevocationsOptions {
  oauth: Pick<OAuthClient, 'revoke'>;
  /** Whether the owner has a login at the server, or another one by the same client. */
  isInUse: (owner: TokenOwner, clientId: string) => Promise<boolean>;
  log: Logger;
}

/** A hanging server delays no other tenant; revocations waiting in vain are left out. */
const inFlight = { perKey: 2, slots: 16, maxWaiting: maxRevocations, maxWaitingOfAll: 10 * maxRevocations };

/** Revokes the tokens of ended logins (RFC 7009), as far as their authorization servers accept it. */
export class LoginRevocations {
  readonly #options: LoginRevocationsOptions;
  readonly #queue = new FairQueue(inFlight);
  readonly #work = new UnawaitedWork();

  constructor(options: LoginRevocationsOptions) {
    this.#options = options;
  }

  /**
   * Revokes tokens no longer used by a login. Not if the client has others of their owner: with any one of them, some
   * authorization servers revoke all tokens a person gave to a client. Returns at once.
   */
  revoke(owner: TokenOwner, tokens: () => RevocableTokens): void {
    const work = (): Promise<void> => this.#queue.run(owner.tenantId, () => this.#revokeAll(owner, tokens()));
    this.#work.begin(work, (error) => this.#warn(owner, { err: error }));
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #revokeAll(
    owner: TokenOwner,
    { binding, accessToken, refreshToken }: RevocableTokens,
  ): Promise<void> {
    if (await this.#options.isInUse(owner, binding.client.client_id)) return;
    // The first one could get more of the second kind.
    if (refreshToken !== null)
      await this.#revokeOne(owner, binding, { token: refreshToken, kind: 'refresh_token' });
    await this.#revokeOne(owner, binding, { token: accessToken, kind: 'access_token' });
  }

  /** A server may take one kind of tokens alone. */
  async #revokeOne(owner: TokenOwner, binding: OAuthBinding, token: RevokedToken): Promise<void> {
    try {
      await this.#options.oauth.revoke(owner.tenantId, binding, token);
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      // Not the error: what servers send may have secrets.
      this.#warn(owner, { kind: token.kind, reason: error.message });
    }
  }

  #warn({ tenantId, serverId }: TokenOwner, fields: object): void {
    const message = 'failed to revoke a token of a login at an MCP server';
    this.#options.log.warn({ tenant_id: tenantId, mcp_server_id: serverId, ...fields }, message);
  }
}
