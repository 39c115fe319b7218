import type { AuditEntry, listAuditLog, listOwnAuditLog } from '@gatehouse/contract/audit';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { AppError } from '@gatehouse/kit/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import { readTenantLog, type AuditFilter, type StoredEntry } from './audit-log-store.ts';
import type { AuditLogSystemStore } from './audit-log-system-store.ts';

type Query = z.output<typeof listOwnAuditLog>;
type Filtered = Omit<Query, 'limit' | 'cursor'>;
type TenantList = Call<unknown, Query>;
type List = Call<unknown, z.output<typeof listAuditLog>>;

export interface AuditLogDependencies {
  auditLog: AuditLogSystemStore;
  /** A pool of `tenant_app`. */
  app: Pool;
}

/**
 * Administrative changes in all services, each with the key of its author: all tenants' for owners, else the caller's
 * tenant's.
 */
export function auditLogHandlers({ auditLog, app }: AuditLogDependencies): Record<string, Handler> {
  return {
    'owner.audit-log.list': async (call: List) => {
      const filter = { ...filterOf(call.query), tenantId: call.query.tenant_id ?? null };
      return pageReply(call, (page) => auditLog.list({ ...filter, ...page }), showEntry);
    },

    'audit-log.list': async (call: TenantList) => {
      const filter = { ...filterOf(call.query), tenantId: tenantOf(call).tenantId };
      return pageReply(call, (page) => readTenantLog(app, { ...filter, ...page }), showToTenant);
    },
  };
}

/** Throws a 400 if the period ends before it begins. */
export function filterOf(query: Filtered): Omit<AuditFilter, 'tenantId' | 'limit' | 'before'> {
  const { actor = null, action = null, from = null, to = null } = query;
  // Times are normalized, so comparing them as text is correct.
  if (from !== null && to !== null && from >= to)
    throw new AppError('invalid_value', 'Invalid value for from: must be before to.', { param: 'from' });
  return { actor, action, from, to };
}

export function showEntry({ at, ...entry }: StoredEntry): AuditEntry {
  return { ...entry, at: at.toISOString() };
}

/** Tenants see what an owner changed for them, not where the owner was. */
export function showToTenant(stored: StoredEntry): AuditEntry {
  const entry = showEntry(stored);
  return entry.actor.role === 'owner' ? { ...entry, client_ip: null } : entry;
}
