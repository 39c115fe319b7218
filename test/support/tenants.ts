import { newId } from '@gatehouse/kit/ids';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';

export interface TenantAccess {
  id: string;
  slug: string;
  adminKey: string;
  userKey: string;
}

/**
 * Creates a tenant with an admin key and a user key, with the owner key of the gateway. It has the limits in `settings` alone,
 * and not the one that new tenants have.
 */
export async function makeTenant(
  { url, ownerKey }: { url: string; ownerKey: string },
  { limits, ...settings }: Record<string, unknown> = {},
): Promise<TenantAccess> {
  // This client retries while the gateway is starting.
  const gateway = new GatewayClient(url);
  const slug = `t-${newId().slice(-12)}`;
  const made = await gateway.call(ownerKey, 'POST', '/internal/v1/owner/tenants', {
    slug,
    name: slug,
    limits: { max_concurrent: null, ...(limits as object | undefined) },
    ...settings,
  });
  const { id, admin_key: adminKey } = expectSuccess(made, 'making a tenant') as Record<string, string>;
  if (id === undefined || adminKey === undefined) throw new Error('the tenant has no id or key');
  const user = await gateway.call(adminKey, 'POST', '/v1/api-keys', { name: 'user', role: 'user' });
  return { id, slug, adminKey, userKey: String(expectSuccess(user, 'making a key')['key']) };
}
