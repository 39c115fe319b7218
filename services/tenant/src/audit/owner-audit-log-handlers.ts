import type { listAuditLog } from '@gatehouse/contract/audit';
import type { Call, Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import type { AuditLogSystemStore } from './audit-log-system-store.ts';

type List = Call<unknown, z.output<typeof listAuditLog>>;

/** `/internal/v1/owner/audit-log`: the administrative changes in all services, with the key that made each. */
export function ownerAuditLogHandlers(auditLog: AuditLogSystemStore): Record<string, Handler> {
  return {
    'owner.audit-log.list': async ({ query }: List) => {
      assertPeriod(query);
      const rows = await auditLog.list({
        tenantId: query.tenant_id ?? null,
        actor: query.actor ?? null,
        action: query.action ?? null,
        from: query.from ?? null,
        to: query.to ?? null,
        limit: query.limit,
        before: decodeCursor(query.cursor),
      });
      return { body: pageOf(rows, query.limit, ({ at, ...entry }) => ({ ...entry, at: at.toISOString() })) };
    },
  };
}

/** Throws a 400 for a period that ends before it begins. Times are normalized, so comparing them as text is correct. */
function assertPeriod({ from, to }: List['query']): void {
  if (from === undefined || to === undefined || from < to) return;
  throw new AppError('invalid_value', 'Invalid value for from: must be before to.', { param: 'from' });
}
