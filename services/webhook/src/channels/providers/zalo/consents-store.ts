import type { ChannelConfig } from '@gatehouse/contract/channel-instances';
import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { ConsentKind, EndPage, ProviderAnswer } from '@gatehouse/public-access/consent-flow';
import type { ConsentPage } from '@gatehouse/public-access/consent-page';
import type { ConsentTickets, OpenTicket } from '@gatehouse/public-access/consent-tickets';
import type { WebhookSecrets } from '../../../secrets/webhook-secrets.ts';
import type { Ref } from '../../../shared/ref.ts';
import type { Channel } from '../../channel.ts';
import { lockChannel } from '../../channel-store.ts';
import type { OpenChannels, UsableChannel } from '../../open-channels.ts';
import { zaloAccounts as accounts } from './zalo.ts';
import { ConsentRefused, ProviderUnavailable, type Tokens, type ZaloOAuth } from './zalo-oauth.ts';
import { sealedTokens, storeConsent } from './token-store.ts';

type End = 'connected' | 'refused' | 'unavailable' | 'other_account' | 'contradiction';

export interface ZaloConsentsOptions {
  /** A pool of `webhook_app`. */
  app: Pool;
  oauth: ZaloOAuth;
  tickets: ConsentTickets;
  channels: OpenChannels;
  secrets: WebhookSecrets;
  changes: Pick<Changes, 'record'>;
  resumeChannel: (channel: Ref) => Promise<void>;
  log: Logger;
}

/** The tokens of a consent are for another account than they should be. */
class OtherAccount extends Error {
  readonly end: 'other_account' | 'contradiction';

  constructor(end: OtherAccount['end']) {
    super(end);
    this.end = end;
  }
}

const notConnected = (reason: string): EndPage => [
  400,
  'Not connected',
  `${reason} Open the link again to go on.`,
];

/** Leads administrators of Zalo Official Accounts to Zalo, and takes what their browsers bring back. */
export class ZaloConsents implements ConsentKind<Channel, End> {
  readonly callbackPath = '/v1/channels/zalo-oa/callback';
  readonly provider = 'Zalo';
  readonly formTarget: string;
  readonly ends: Readonly<Record<End, EndPage>> = {
    connected: [200, 'Connected', 'Messages to the account are answered now. You can close this page.'],
    refused: notConnected('Zalo did not give access.'),
    unavailable: notConnected('Zalo could not be reached.'),
    other_account: notConnected('The consent is for another Official Account than the channel is for.'),
    contradiction: notConnected('Zalo gave access to another Official Account than this browser named.'),
  };

  readonly #options: ZaloConsentsOptions;

  constructor(options: ZaloConsentsOptions) {
    this.#options = options;
    this.formTarget = options.oauth.origin;
  }

  find({ tenantId, subjectId }: OpenTicket): Promise<Channel | null> {
    return this.#options.channels.find(tenantId, subjectId);
  }

  page(channel: Channel, { askedBy }: OpenTicket): ConsentPage {
    return {
      title: 'Connect a Zalo Official Account',
      text: 'If you go on, agents of this tenant read and answer what people write to the account that you choose.',
      button: 'Continue to Zalo',
      facts: [
        ['Tenant', askedBy.tenant],
        ['Channel', channel.name],
      ],
    };
  }

  async authorizationUrl(
    ticket: OpenTicket,
    request: { redirectUri: string; state: string; verifier: string },
  ): Promise<string | null> {
    const open = await this.#open(ticket);
    return open && this.#options.oauth.authorizationUrl(open, request);
  }

  /**
   * Exchanges the code, with which Zalo names the account of the tokens, and stores both tokens in one transaction. The
   * first successful consent by a link counts; while one is under way no other is exchanged, because each ends the
   * tokens of the one before.
   */
  async finish(
    ticket: OpenTicket,
    { code, verifier, query, circumstances }: ProviderAnswer,
  ): Promise<End | 'over'> {
    const { oauth, tickets, log } = this.#options;
    // The chosen account, as the browser says.
    const named = query['oa_id'];
    const open = await this.#open(ticket);
    if (open === null) return 'over';
    const { app, account: expected } = accounts.fieldsOf(open.config);
    // Before the code is used up.
    if (named !== undefined && named !== (expected ?? named)) return 'other_account';
    try {
      const consent = await tickets.use(ticket, async () => {
        const exchanged = await oauth.exchange(open, { code, verifier });
        if (exchanged.account !== (expected ?? exchanged.account)) throw new OtherAccount('other_account');
        if (exchanged.account !== (named ?? exchanged.account)) throw new OtherAccount('contradiction');
        return exchanged;
      });
      if (consent === null) return 'over';
      return await this.#store(ticket, { ...consent, app, circumstances });
    } catch (error) {
      if (error instanceof OtherAccount) return error.end;
      if (!(error instanceof ConsentRefused) && !(error instanceof ProviderUnavailable)) throw error;
      log.warn({ err: error, channel_id: ticket.subjectId }, 'failed to exchange the code of a consent');
      return error instanceof ConsentRefused ? 'refused' : 'unavailable';
    }
  }

  async #open({ tenantId, subjectId }: OpenTicket): Promise<ZaloChannel | null> {
    const usable = await this.#options.channels.open(tenantId, subjectId);
    return usable?.channel.type === 'zalo_oa' ? usable.open : null;
  }

  /** Stores the tokens with an audit entry; `over` if the channel was deleted meanwhile. */
  async #store(
    { tenantId, subjectId: id, askedBy }: OpenTicket,
    {
      tokens,
      app,
      account,
      circumstances,
    }: Pick<ProviderAnswer, 'circumstances'> & { tokens: Tokens; app: string; account: string },
  ): Promise<End | 'over'> {
    const { app: pool, secrets, changes, resumeChannel } = this.#options;
    const end = await withTenant(pool, tenantId, async (db) => {
      const channel = await lockChannel(db, id);
      if (channel === null) return 'over';
      // It may have become one for another app or account while Zalo was asked.
      const known = channel.config as ChannelConfig<'zalo_oa'>;
      const before = accounts.fieldsOf(known);
      if (before.app !== app || (before.account ?? account) !== account) return 'other_account';
      const config = accounts.withAccount(known, account);
      await storeConsent(db, id, { tokens: sealedTokens(secrets, { tenantId, id }, tokens), config });
      const { key_id, user_id, role } = askedBy;
      const change = { action: 'channel_instance.connected', id, before: null, after: { config } } as const;
      await changes.record(db, change, { actor: { key_id, role, user_id }, tenantId, ...circumstances });
      return 'connected';
    });
    if (end === 'connected') await resumeChannel({ tenantId, id });
    return end;
  }
}

type ZaloChannel = UsableChannel<'zalo_oa'>['open'];
