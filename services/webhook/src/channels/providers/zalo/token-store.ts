import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { WebhookSecrets } from '../../../secrets/webhook-secrets.ts';
import type { Ref } from '../../../shared/ref.ts';
import { placeOf } from '../../channel.ts';
import type { Tokens } from './zalo-oauth.ts';
import { refreshLeaseS, youngTokenS } from '../../../bounds.ts';

/** Tokens of a channel, encrypted. */
interface SealedTokens {
  accessToken: Buffer;
  refreshToken: Buffer;
  expiresInS: number;
}

export function sealedTokens(
  secrets: WebhookSecrets,
  channel: Ref,
  { accessToken, refreshToken, expiresInS }: Tokens,
): SealedTokens {
  return {
    accessToken: secrets.seal(placeOf(channel, 'access_token'), accessToken),
    refreshToken: secrets.seal(placeOf(channel, 'refresh_token'), refreshToken),
    expiresInS,
  };
}

/** Providers' tokens with an expiry, of one tenant at a time. */
export class TokenStore extends Store {
  /** Claims a due refresh. Null if it isn't due, or another replica is at it. */
  claimRefresh({ tenantId, id }: Ref, claim: string): Promise<Buffer | null> {
    return withTenant(this.pool, tenantId, async (db) => {
      return (
        (
          await db.first<{ refreshToken: Buffer }>(
            `update webhook.channel_instances
         set refresh_claim = $2, refresh_claimed_until = now() + make_interval(secs => ${refreshLeaseS})
         where id = $1 and deleted_at is null and status <> 'needs_reauth'
           and refresh_due_at <= now()
           and (refresh_claimed_until is null or refresh_claimed_until < now())
         returning refresh_token as "refreshToken"`,
            [id, claim],
          )
        )?.refreshToken ?? null
      );
    });
  }

  /** Stores refreshed tokens. Returns false if the claim is no longer this one: a consent came meanwhile. */
  refreshed({ tenantId, id }: Ref, claim: string, tokens: SealedTokens): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `update webhook.channel_instances set access_token = $3, refresh_token = $4,
          refresh_due_at = now() + make_interval(secs => $5), token_at = now(), refresh_claim = null, refresh_claimed_until = null
        where id = $1 and refresh_claim = $2`,
      [id, claim, tokens.accessToken, tokens.refreshToken, dueInS(tokens)],
    );
  }

  /** Gives a claim up: another attempt may follow in `afterS`. */
  async release({ tenantId, id }: Ref, claim: string, afterS: number): Promise<void> {
    await this.tenant(tenantId).query(
      `update webhook.channel_instances set refresh_claimed_until = now() + make_interval(secs => $3)
        where id = $1 and refresh_claim = $2`,
      [id, claim, afterS],
    );
  }

  /**
   * Decides about an access token refused by the provider: it was replaced meanwhile, it is to be refreshed, which is
   * due now, or nothing helps.
   */
  async refused({ tenantId, id }: Ref, refused: Buffer): Promise<'replaced' | 'refresh' | 'lost'> {
    return withTenant(this.pool, tenantId, async (db) => {
      const { rows } = await db.query<{ isSame: boolean; isYoung: boolean }>(
        `update webhook.channel_instances
         set refresh_due_at = case when access_token = $2 and token_at < now() - make_interval(secs => ${youngTokenS})
           then least(refresh_due_at, now()) else refresh_due_at end
         where id = $1 and access_token is not null
         returning access_token = $2 as "isSame", token_at >= now() - make_interval(secs => ${youngTokenS}) as "isYoung"`,
        [id, refused],
      );
      const [row] = rows;
      if (row === undefined) return 'lost';
      if (!row.isSame) return 'replaced';
      return row.isYoung ? 'lost' : 'refresh';
    });
  }
}

/** Tokens are refreshed after this part of their time. */
const refreshAfter = 0.9;
const dueInS = ({ expiresInS }: SealedTokens): number => Math.floor(expiresInS * refreshAfter);

/** Stores the tokens of a consent, with their account, in a transaction with a lock on the channel. */
export async function storeConsent(
  db: Queryable,
  id: string,
  { tokens, config }: { tokens: SealedTokens; config: object },
): Promise<void> {
  await db.query(
    `update webhook.channel_instances set access_token = $2, refresh_token = $3,
       refresh_due_at = clock_timestamp() + make_interval(secs => $4), token_at = clock_timestamp(), config = $5,
       refresh_claim = null, refresh_claimed_until = null, status = 'connected', status_reason = null,
       updated_at = clock_timestamp()
     where id = $1`,
    [id, tokens.accessToken, tokens.refreshToken, dueInS(tokens), JSON.stringify(config)],
  );
}
