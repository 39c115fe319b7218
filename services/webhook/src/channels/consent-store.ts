import type { Changes } from '@gatehouse/audited-changes/changes';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { lockChannel } from './channel-store.ts';
import type { StoreConsent } from './consent.ts';
import { storeConsent } from './token-store.ts';

/** Stores consents, each with its audit entry in one transaction. `pool` acts as `webhook_app`. */
export function consentStore(pool: Pool, changes: Pick<Changes, 'record'>): StoreConsent {
  return ({ tenantId, subjectId: id, askedBy }, { tokens, configOf, circumstances }) =>
    withTenant(pool, tenantId, async (db) => {
      const channel = await lockChannel(db, id);
      if (channel === null) return 'over';
      const config = configOf(channel);
      if (config === null) return 'other_account';
      await storeConsent(db, id, { tokens, config });
      const { key_id, user_id, role } = askedBy;
      const change = { action: 'channel_instance.connected', id, before: null, after: { config } } as const;
      await changes.record(db, change, { actor: { key_id, role, user_id }, tenantId, ...circumstances });
      return 'connected';
    });
}
