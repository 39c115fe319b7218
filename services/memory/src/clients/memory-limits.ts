import { ActiveTenants, type SettingsCaller } from '@gatehouse/grpc/active-tenants';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import type { MemoryLimits as SentLimits, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { noLimits, type MemoryLimits } from '../store/scopes/scope-store.ts';

/** Limits of what tenants may store, with the rules of {@link ActiveTenants}. */
export class MemoryLimitsClient {
  readonly #tenants: ActiveTenants<MemoryLimits>;

  constructor(peer: RpcClient<TenantServiceClient>, changes: ChangeWatch) {
    this.#tenants = new ActiveTenants({
      changes,
      load: async (tenantId, context) => {
        const request = { tenantId, omitLimitedKeys: true };
        const { memoryLimits, status } = await peer.call('getTenantSettings', request, context);
        return { settings: limitsOf(memoryLimits), status };
      },
    });
  }

  /** Throws `tenant_suspended`, and `service_unavailable` while the tenant service is down and the limits unknown. */
  limitsOf(tenantId: string, caller?: SettingsCaller): Promise<MemoryLimits> {
    return this.#tenants.get(tenantId, caller);
  }
}

/** The release before sends no limits. */
function limitsOf(sent: SentLimits | undefined): MemoryLimits {
  if (sent === undefined) return noLimits;
  const { documents, bytes, entities } = sent;
  return { documents: Number(documents), bytes: Number(bytes), entities: Number(entities) };
}
