import type { ProviderAnswer } from '@gatehouse/public-access/consent-flow';
import type { OpenTicket } from '@gatehouse/public-access/consent-tickets';
import type { Channel } from './channel.ts';

/** Tokens of a channel, encrypted. */
export interface SealedTokens {
  accessToken: Buffer;
  refreshToken: Buffer;
  expiresInS: number;
}

/** Stores the tokens of a consent; `over` if the channel was deleted meanwhile. */
export type StoreConsent = (
  ticket: OpenTicket,
  consent: {
    tokens: SealedTokens;
    /** The config of the channel by the consent; null if it has become a channel that the consent is not for. */
    configOf: (channel: Channel) => object | null;
    circumstances: ProviderAnswer['circumstances'];
  },
) => Promise<'connected' | 'over' | 'other_account'>;
