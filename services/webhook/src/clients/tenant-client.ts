import { ActiveTenants, type SettingsCaller } from '@gatehouse/grpc/active-tenants';
import type { RpcClient } from '@gatehouse/grpc/client';
import { TenantRetention } from '@gatehouse/shell/tenant-retention';
import { UserDirectory } from '@gatehouse/shell/user-directory';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { platformId } from '../shared/ref.ts';

/** The settings of a tenant for webhook. */
export interface WebhookSettings {
  retentionDays: number;
  /** Whether the tenant has a directory of users. */
  hasUsers: boolean;
}

/** Settings of active tenants, with the rules of {@link ActiveTenants}. */
export class TenantClient {
  /** The retention of tenants, also of inactive ones. */
  readonly retention: TenantRetention;
  readonly #tenants: ActiveTenants<WebhookSettings>;
  readonly #users: UserDirectory;

  constructor(peer: RpcClient<TenantServiceClient>, changes: ChangeWatch) {
    this.retention = new TenantRetention(peer, changes);
    this.#users = new UserDirectory(peer, changes);
    this.#tenants = new ActiveTenants({
      changes,
      load: async (tenantId, context) => {
        const request = { tenantId, omitLimitedKeys: true };
        const sent = await peer.call('getTenantSettings', request, context);
        const { status, retentionDays, hasUsers, actingUsers } = sent;
        return { settings: { retentionDays, hasUsers }, status, isPartial: actingUsers === '' };
      },
    });
  }

  /** Whether a tenant, or the platform, is active. Throws `service_unavailable` while this is not known. */
  async isActive(tenantId: string): Promise<boolean> {
    if (tenantId === platformId) return true;
    try {
      await this.assertActive(tenantId);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'tenant_suspended') return false;
      throw error;
    }
  }

  /** Throws `tenant_suspended`, and `service_unavailable` while the tenant service is down and the tenant unknown. */
  async assertActive(tenantId: string, caller?: SettingsCaller): Promise<void> {
    await this.settingsOf(tenantId, caller);
  }

  /** The settings of an active tenant. Throws as {@link assertActive}. */
  settingsOf(tenantId: string, caller?: SettingsCaller): Promise<WebhookSettings> {
    return this.#tenants.get(tenantId, caller);
  }

  /** The id of a user of an active tenant, by any name. Throws `user_blocked`, and as {@link assertActive}. */
  async activeUser(tenantId: string, name: string, caller?: SettingsCaller): Promise<string> {
    if (!(await this.settingsOf(tenantId, caller)).hasUsers) return name;
    return (await this.#users.find(tenantId, name, caller))?.userId ?? name;
  }

  /** Likewise, of a blocked user too. */
  async userOf(tenantId: string, name: string, caller?: SettingsCaller): Promise<string> {
    const { hasUsers } = await this.settingsOf(tenantId, caller);
    return hasUsers ? this.#users.idOf(tenantId, name, caller) : name;
  }
}
