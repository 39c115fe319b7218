import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { ConsentKind, ProviderAnswer } from '@gatehouse/public-access/consent-flow';
import type { ConsentPage } from '@gatehouse/public-access/consent-page';
import type { ConsentTickets, OpenTicket } from '@gatehouse/public-access/consent-tickets';
import type { Logger } from '@gatehouse/kit/log';
import {
  ConsentRefused,
  ProviderUnavailable,
  type ChannelAccounts,
  type ChannelConsents,
  type ConsentEnd,
  type Tokens,
  type Egresses,
} from './adapter.ts';
import type { Channel } from './channel.ts';
import type { ChannelTokens } from './channel-tokens.ts';
import type { StoreConsent } from './consent.ts';
import type { OpenChannels, UsableChannel } from './open-channels.ts';

export interface ConsentKindOptions {
  type: ChannelType;
  consents: ChannelConsents<ChannelType>;
  accounts: ChannelAccounts<ChannelType>;
  /** The platform's, as no tenant pays for a browser. */
  egresses: Egresses;
  tickets: ConsentTickets;
  channels: OpenChannels;
  tokens: ChannelTokens;
  store: StoreConsent;
  resumeChannel: (channel: { tenantId: string; id: string }) => Promise<void>;
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

/** Leads browsers to the provider of a type of channels, and takes what they bring back. */
export class ChannelConsentKind implements ConsentKind<Channel, ConsentEnd> {
  readonly #options: ConsentKindOptions;

  constructor(options: ConsentKindOptions) {
    this.#options = options;
  }

  get type(): ChannelType {
    return this.#options.type;
  }

  get slug(): string {
    return this.#options.consents.slug;
  }

  get callbackPath(): string {
    return `/v1/channels/${this.slug}/callback`;
  }

  get provider(): string {
    return this.#options.consents.provider;
  }

  get ends(): ChannelConsents<ChannelType>['ends'] {
    return this.#options.consents.ends;
  }

  get formTarget(): string {
    return this.#options.consents.origin;
  }

  find({ tenantId, subjectId }: OpenTicket): Promise<Channel | null> {
    return this.#options.channels.find(tenantId, subjectId);
  }

  page(channel: Channel, { askedBy }: OpenTicket): ConsentPage {
    const facts = [['Tenant', askedBy.tenant] as const, ['Channel', channel.name] as const];
    return { ...this.#options.consents.page, facts };
  }

  async authorizationUrl(
    ticket: OpenTicket,
    request: { redirectUri: string; state: string; verifier: string },
  ): Promise<string | null> {
    const usable = await this.#open(ticket);
    return usable === null ? null : this.#options.consents.authorizationUrl(usable.open, request);
  }

  /**
   * Exchanges the code, with which the provider says which account the tokens are for, and stores both tokens in one
   * transaction. The first of several consents by one link that succeeds counts; while one is under way no other is
   * exchanged, because each ends the tokens of the one before.
   */
  async finish(
    ticket: OpenTicket,
    { code, verifier, query, circumstances }: ProviderAnswer,
  ): Promise<ConsentEnd | 'over'> {
    const { accounts, consents, tickets, egresses, log } = this.#options;
    // The account that was chosen, as the browser says.
    const named = consents.namedAccount(query);
    const usable = await this.#open(ticket);
    if (usable === null) return 'over';
    const { app, account: expected } = accounts.fieldsOf(usable.open.config);
    // Before the code is used up.
    if (named !== undefined && named !== (expected ?? named)) return 'other_account';
    try {
      const consent = await tickets.use(ticket, async () => {
        const exchanged = await consents.exchange(usable.open, { code, verifier }, egresses);
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

  async #open({ tenantId, subjectId }: OpenTicket): Promise<UsableChannel | null> {
    const { channels, type } = this.#options;
    const usable = await channels.open(tenantId, subjectId);
    return usable?.channel.type === type ? usable : null;
  }

  async #store(
    ticket: OpenTicket,
    {
      tokens: granted,
      app,
      account,
      circumstances,
    }: Pick<ProviderAnswer, 'circumstances'> & { tokens: Tokens; app: string; account: string },
  ): Promise<ConsentEnd | 'over'> {
    const { accounts, tokens, store, resumeChannel } = this.#options;
    const { tenantId, subjectId: id } = ticket;
    const end = await store(ticket, {
      tokens: tokens.seal({ tenantId, id }, granted),
      // The channel may have become one for another app or account while the provider was asked.
      configOf: ({ config }) => {
        const before = accounts.fieldsOf(config);
        const isSame = before.app === app && (before.account ?? account) === account;
        return isSame ? accounts.withAccount(config, account) : null;
      },
      circumstances,
    });
    if (end === 'connected') await resumeChannel({ tenantId, id });
    return end;
  }
}
