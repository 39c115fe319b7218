import type { AuditEntry, listAuditLog, listOwnAuditLog } from '@gatehouse/contract/audit';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import type { AuditFilter, StoredEntry } from './audit-log-store.ts';
import type { AuditLogSystemStore } from './audit-log-system-store.ts';
import type { TenantAuditLogStore } from './tenant-audit-log-store.ts';

type Query = z.output<typeof listOwnAuditLog>;
type Filtered = Omit<Query, 'limit' | 'cursor'>;
type TenantList = Call<unknown, Query>;
type List = Call<unknown, z.output<typeof listAuditLog>>;

export interface AuditLogDependencies {
  auditLog: AuditLogSystemStore;
  tenantLog: TenantAuditLogStore;
}

/** The administrative changes in all services, with the key that made each: of all tenants, and of the caller's. */
export function auditLogHandlers({
  auditLog,
  tenantLog: tenantLog,
}: AuditLogDependencies): Record<string, Handler> {
  return {
    'owner.audit-log.list': async ({ query }: List) => {
      const filter = { ...filterOf(query), ...pageIn(query), tenantId: query.tenant_id ?? null };
      const rows = await auditLog.list(filter);
      return { body: pageOf(rows, query.limit, showEntry) };
    },

    'audit-log.list': async (call: TenantList) => {
      const { query } = call;
      const { tenantId } = tenantOf(call);
      const rows = await tenantLog.list({ ...filterOf(query), ...pageIn(query), tenantId });
      return { body: pageOf(rows, query.limit, (entry) => withoutOwnersAddress(showEntry(entry))) };
    },
  };
}

/** Throws a 400 for a period that ends before it begins. */
export function filterOf(query: Filtered): Omit<AuditFilter, 'tenantId' | 'limit' | 'before'> {
  const { actor = null, action = null, from = null, to = null } = query;
  // Times are normalized, so comparing them as text is correct.
  if (from !== null && to !== null && from >= to)
    throw new AppError('invalid_value', 'Invalid value for from: must be before to.', { param: 'from' });
  return { actor, action, from, to };
}

function pageIn({ limit, cursor }: Query): Pick<AuditFilter, 'limit' | 'before'> {
  return { limit, before: decodeCursor(cursor) };
}

export function showEntry({ at, ...entry }: StoredEntry): AuditEntry {
  return { ...entry, at: at.toISOString() };
}

/** Tenants see what an owner changed for them, not where the owner was. */
export function withoutOwnersAddress(entry: AuditEntry): AuditEntry {
  return entry.actor.role === 'owner' ? { ...entry, client_ip: null } : entry;
}
