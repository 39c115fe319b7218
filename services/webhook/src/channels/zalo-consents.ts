import type { Changes } from '@gatehouse/changes/changes';
import type { ChannelConfig } from '@gatehouse/contract/channel-instances';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { lockChannel } from '../store/channel-store.ts';
import type { ConsentStore } from '../store/consent-store.ts';
import type { OpenTicket } from '../store/consent-system-store.ts';
import { storeConsent } from '../store/token-store.ts';
import type { ChannelTokens } from './channel-tokens.ts';
import type { OpenChannels } from './open-channels.ts';
import { ConsentRefused, ProviderUnavailable, type Tokens, type ZaloOAuth } from './zalo-oauth.ts';

/** How a consent ended. */
export type ConsentEnd = 'connected' | 'refused' | 'unavailable' | 'other_account' | 'over';

export interface ZaloConsentsOptions {
  app: Pool;
  store: ConsentStore;
  channels: OpenChannels;
  tokens: ChannelTokens;
  oauth: ZaloOAuth;
  /** Of Zalo's consent pages. */
  origin: string;
  changes: Pick<Changes, 'record'>;
  wake: (channel: { tenantId: string; id: string }) => Promise<void>;
  log: Logger;
}

/** What the browser brings back from Zalo, and who asks. */
export interface ZaloAnswer {
  code: string;
  verifier: string;
  /** The Official Account that was chosen. */
  account: string | null;
  circumstances: { clientIp: string | null; requestId: string };
}

/** Leads browsers to Zalo, and takes what they bring back. */
export class ZaloConsents {
  readonly #options: ZaloConsentsOptions;

  constructor(options: ZaloConsentsOptions) {
    this.#options = options;
  }

  get origin(): string {
    return this.#options.origin;
  }

  /** Where the browser goes to consent; null if the channel is gone. */
  async authorizationUrl(
    { tenantId, instanceId }: OpenTicket,
    asked: { redirectUri: string; state: string; verifier: string },
  ): Promise<string | null> {
    const { channels, tokens, oauth } = this.#options;
    const usable = await channels.open(tenantId, instanceId);
    if (usable?.channel.type !== 'zalo_oa') return null;
    return oauth.authorizationUrl(tokens.appOf(usable.open), asked);
  }

  /**
   * Exchanges the code and stores both tokens in one transaction. Of several consents by one link the first that
   * succeeds counts; while one is under way no other is exchanged, because each ends the tokens of the one before.
   */
  async finish(
    ticket: OpenTicket,
    { code, verifier, account, circumstances }: ZaloAnswer,
  ): Promise<ConsentEnd> {
    const { channels, tokens, oauth, store, log } = this.#options;
    const usable = await channels.open(ticket.tenantId, ticket.instanceId);
    if (usable?.channel.type !== 'zalo_oa') return 'over';
    const app = tokens.appOf(usable.open);
    if ((app.config.oa_id ?? account) !== account) return 'other_account';
    if (!(await store.useTicket(ticket))) return 'over';
    let given: Tokens;
    try {
      given = await oauth.exchange(app, { code, verifier });
    } catch (error) {
      await store.releaseTicket(ticket);
      if (!(error instanceof ConsentRefused) && !(error instanceof ProviderUnavailable)) throw error;
      log.warn({ err: error, channel_id: ticket.instanceId }, 'failed to exchange the code of a consent');
      return error instanceof ConsentRefused ? 'refused' : 'unavailable';
    }
    return this.#store(ticket, { given, appId: app.config.app_id, account, circumstances });
  }

  async #store(
    ticket: OpenTicket,
    {
      given,
      appId,
      account,
      circumstances,
    }: Pick<ZaloAnswer, 'account' | 'circumstances'> & { given: Tokens; appId: string },
  ): Promise<ConsentEnd> {
    const { app, tokens, changes, wake } = this.#options;
    const { tenantId, instanceId: id } = ticket;
    const end = await withTenant(app, tenantId, async (db): Promise<ConsentEnd> => {
      const channel = await lockChannel(db, id);
      if (channel === null) return 'over';
      const before = channel.config as ChannelConfig<'zalo_oa'>;
      // The channel may have become one for another app or account while Zalo was asked.
      if (before.app_id !== appId || (before.oa_id ?? account) !== account) return 'other_account';
      const config = { ...before, ...(account !== null && { oa_id: account }) };
      await storeConsent(db, id, { tokens: tokens.seal({ tenantId, id }, given), config });
      const { key_id, user_id, role } = ticket.askedBy;
      const change = { action: 'channel_instance.connected', id, before: null, after: { config } } as const;
      await changes.record(db, change, { actor: { key_id, role, user_id }, tenantId, ...circumstances });
      return 'connected';
    });
    if (end === 'connected') await wake({ tenantId, id });
    return end;
  }
}
