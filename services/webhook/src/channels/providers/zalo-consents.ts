import type { Changes } from '@gatehouse/changes/changes';
import type { ChannelConfig } from '@gatehouse/contract/channel-instances';
import type { Logger } from '@gatehouse/kit/log';
import type { ConsentKind, EndPage, ProviderAnswer } from '@gatehouse/keyless/consent-flow';
import type { ConsentPage } from '@gatehouse/keyless/consent-page';
import type { ConsentTickets, OpenTicket } from '@gatehouse/keyless/consent-tickets';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { lockChannel, type ChannelStore } from '../channel-store.ts';
import { storeConsent } from '../token-store.ts';
import type { Channel } from '../channel.ts';
import type { ChannelTokens } from '../channel-tokens.ts';
import type { OpenChannels } from '../open-channels.ts';
import type { ZaloAccounts } from './zalo-account.ts';
import { ConsentRefused, ProviderUnavailable, type Tokens, type ZaloOAuth } from './zalo-oauth.ts';

export interface ZaloConsentsOptions {
  app: Pool;
  store: ChannelStore;
  tickets: ConsentTickets;
  channels: OpenChannels;
  tokens: ChannelTokens;
  oauth: ZaloOAuth;
  accounts: ZaloAccounts;
  /** The origin of Zalo's consent pages. */
  origin: string;
  changes: Pick<Changes, 'record'>;
  wake: (channel: { tenantId: string; id: string }) => Promise<void>;
  log: Logger;
}

type End = 'connected' | 'refused' | 'unavailable' | 'other_account' | 'contradiction';

/** The tokens of a consent are for another account than they should be. */
class OtherAccount extends Error {
  readonly end: 'other_account' | 'contradiction';

  constructor(end: OtherAccount['end']) {
    super(end);
    this.end = end;
  }
}

/** Leads browsers to Zalo, and takes what they bring back. */
export class ZaloConsents implements ConsentKind<Channel, End> {
  readonly callbackPath = '/v1/channels/zalo-oa/callback';
  readonly provider = 'Zalo';
  readonly ends: Readonly<Record<End, EndPage>> = {
    connected: [200, 'Connected', 'Messages to the account are answered now. You can close this page.'],
    refused: [400, 'Not connected', 'Zalo did not give access. Open the link again to go on.'],
    unavailable: [400, 'Not connected', 'Zalo could not be reached. Open the link again to go on.'],
    other_account: [
      400,
      'Not connected',
      'The consent is for another Official Account than the channel is for. Open the link again to go on.',
    ],
    contradiction: [
      400,
      'Not connected',
      'Zalo gave access to another Official Account than this browser named. Open the link again to go on.',
    ],
  };
  readonly #options: ZaloConsentsOptions;

  constructor(options: ZaloConsentsOptions) {
    this.#options = options;
  }

  get formTarget(): string {
    return this.#options.origin;
  }

  find({ tenantId, subjectId }: OpenTicket): Promise<Channel | null> {
    return this.#options.store.find(tenantId, subjectId);
  }

  page(channel: Channel, { askedBy }: OpenTicket): ConsentPage {
    return {
      title: 'Connect a Zalo Official Account',
      text: 'If you go on, agents of this tenant read and answer what people write to the account that you choose.',
      facts: [
        ['Tenant', askedBy.tenant],
        ['Channel', channel.name],
      ],
      button: 'Continue to Zalo',
    };
  }

  async authorizationUrl(
    { tenantId, subjectId }: OpenTicket,
    asked: { redirectUri: string; state: string; verifier: string },
  ): Promise<string | null> {
    const { channels, tokens, oauth } = this.#options;
    const usable = await channels.open(tenantId, subjectId);
    if (usable?.channel.type !== 'zalo_oa') return null;
    return oauth.authorizationUrl(tokens.appOf(usable.open), asked);
  }

  /**
   * Exchanges the code, asks Zalo which account the tokens are for, since the callback's `oa_id` is not signed, and stores
   * both tokens in one transaction. Of several consents by one link the first that
   * succeeds counts; while one is under way no other is exchanged, because each ends the tokens of the one before.
   */
  async finish(
    ticket: OpenTicket,
    { code, verifier, query, circumstances }: ProviderAnswer,
  ): Promise<End | 'over'> {
    const { channels, tokens, oauth, accounts, tickets, log } = this.#options;
    // The Official Account that was chosen, as the browser says.
    const named = query['oa_id'];
    const usable = await channels.open(ticket.tenantId, ticket.subjectId);
    if (usable?.channel.type !== 'zalo_oa') return 'over';
    const app = tokens.appOf(usable.open);
    const expected = app.config.oa_id;
    // Before the code is used up.
    if (named !== undefined && named !== (expected ?? named)) return 'other_account';
    try {
      const consent = await tickets.use(ticket, async () => {
        const given = await oauth.exchange(app, { code, verifier });
        const account = await accounts.of(given.accessToken);
        if (account !== (expected ?? account)) throw new OtherAccount('other_account');
        if (account !== (named ?? account)) throw new OtherAccount('contradiction');
        return { given, account };
      });
      if (consent === null) return 'over';
      return await this.#store(ticket, { ...consent, appId: app.config.app_id, circumstances });
    } catch (error) {
      if (error instanceof OtherAccount) return error.end;
      if (!(error instanceof ConsentRefused) && !(error instanceof ProviderUnavailable)) throw error;
      log.warn({ err: error, channel_id: ticket.subjectId }, 'failed to exchange the code of a consent');
      return error instanceof ConsentRefused ? 'refused' : 'unavailable';
    }
  }

  async #store(
    ticket: OpenTicket,
    {
      given,
      appId,
      account,
      circumstances,
    }: Pick<ProviderAnswer, 'circumstances'> & { given: Tokens; appId: string; account: string },
  ): Promise<End | 'over'> {
    const { app, tokens, changes, wake } = this.#options;
    const { tenantId, subjectId: id } = ticket;
    const end = await withTenant(app, tenantId, async (db): Promise<End | 'over'> => {
      const channel = await lockChannel(db, id);
      if (channel === null) return 'over';
      const before = channel.config as ChannelConfig<'zalo_oa'>;
      // The channel may have become one for another app or account while Zalo was asked.
      if (before.app_id !== appId || (before.oa_id ?? account) !== account) return 'other_account';
      const config = { ...before, oa_id: account };
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
