import type { Rpc } from '@gatehouse/grpc/rpc';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { GetUsageRequest, GetUsageResponse } from '@gatehouse/proto/memory/v1/memory';
import { tenantUsage } from '../store/scopes/scope-store.ts';

/** Returns how much of its limits a tenant uses. `pool` acts as `memory_app`. */
export function getUsage(pool: Pool): Rpc<GetUsageRequest, GetUsageResponse> {
  return {
    callers: ['tenant'],
    handle: ({ tenantId }) => withTenant(pool, tenantId, (db) => tenantUsage(db, tenantId)),
  };
}
