import type { ChannelConfig, ChannelCredentials } from '@gatehouse/contract/channel-instances';
import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { SealedTokens } from './token-store.ts';
import type { OpenChannel } from './adapter.ts';
import type { Tokens } from './providers/zalo-oauth.ts';

type Column = 'access_token' | 'refresh_token';

interface Ref {
  tenantId: string;
  id: string;
}

/** Encrypts and decrypts the tokens of channels, each for its column and row only. */
export class ChannelTokens {
  readonly #secrets: WebhookSecrets;

  constructor(secrets: WebhookSecrets) {
    this.#secrets = secrets;
  }

  seal(channel: Ref, { accessToken, refreshToken, expiresInS }: Tokens): SealedTokens {
    return {
      accessToken: this.#secrets.seal(placeOf(channel, 'access_token'), accessToken),
      refreshToken: this.#secrets.seal(placeOf(channel, 'refresh_token'), refreshToken),
      expiresInS,
    };
  }

  open(channel: Ref, column: Column, sealed: Buffer): string {
    return this.#secrets.open(placeOf(channel, column), sealed);
  }

  /** The properties of a channel's app that Zalo asks for. */
  appOf({ config, credentials }: OpenChannel): {
    config: ChannelConfig<'zalo_oa'>;
    credentials: ChannelCredentials<'zalo_oa'>;
  } {
    return {
      config: config as ChannelConfig<'zalo_oa'>,
      credentials: credentials as ChannelCredentials<'zalo_oa'>,
    };
  }
}

function placeOf({ tenantId, id }: Ref, column: Column): SecretPlace {
  return { tenantId, table: 'channel_instances', column, id };
}
