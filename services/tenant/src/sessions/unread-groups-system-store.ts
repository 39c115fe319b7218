import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { unreadGroupsMs } from '../bounds.ts';
import type { UnreadGroups } from '../issuers/grants.ts';

export type ReportUnreadGroups = (issuer: string, problem: UnreadGroups) => Promise<void>;

/**
 * Raises `issuer.groups_unreadable` for an issuer of the settings, every ten minutes at most, however many people it is
 * about. `system` acts as `tenant_system`.
 */
export function unreadGroupsReport(system: Pool, raise: RaiseAlert): ReportUnreadGroups {
  const raisedAt = new Map<string, number>();
  return async (issuer, { kind }) => {
    const now = monotonicMs();
    if (now - (raisedAt.get(issuer) ?? -unreadGroupsMs) < unreadGroupsMs) return;
    const event = { id: newId(), tenant_id: null, type: 'issuer.groups_unreadable' } as const;
    await withTransaction(system, (db) => raise(db, { ...event, data: { issuer, problem: kind } }));
    raisedAt.set(issuer, now);
  };
}
