import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { SealedTokens } from './consent.ts';
import type { Tokens } from './adapter.ts';
import type { Ref } from '../shared/ref.ts';

type Column = 'access_token' | 'refresh_token';

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
}

function placeOf({ tenantId, id }: Ref, column: Column): SecretPlace {
  return { tenantId, table: 'channel_instances', column, id };
}
