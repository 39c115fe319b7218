import { isOutage } from '@gatehouse/grpc/errors';
import type { RpcClient } from '@gatehouse/grpc/client';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { AppError } from '@gatehouse/kit/errors';
import type { GetTenantSettingsResponse, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/**
 * Reads from the current settings of a tenant; `whenDeleted` is the answer for a deleted tenant, and null that of an outage
 * of the tenant service. Throws its other errors. Never cached.
 */
export async function readTenantSettings<Value>(
  peer: RpcClient<TenantServiceClient>,
  tenantId: string,
  {
    read,
    whenDeleted: whenDeleted,
  }: { read: (settings: GetTenantSettingsResponse) => Value; whenDeleted: Value },
): Promise<Value | null> {
  try {
    const request = { tenantId, omitLimitedKeys: true };
    return read(await peer.call('getTenantSettings', request, { deadlineMs: lookupDeadlineMs }));
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return whenDeleted;
    if (isOutage(error)) return null;
    throw error;
  }
}
