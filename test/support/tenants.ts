import { newId } from '@gatehouse/kit/ids';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';

export interface TenantAccess {
  id: string;
  slug: string;
  adminKey: string;
  userKey: string;
}

/** A new tenant with an admin key and a user key, at the gateway that the owner's key is for. */
export async function makeTenant(
  { url, ownerKey }: { url: string; ownerKey: string },
  settings: Record<string, unknown> = {},
): Promise<TenantAccess> {
  // It tries again what a gateway that has only just started can not do yet.
  const gateway = new GatewayClient(url);
  const slug = `t-${newId().slice(-12)}`;
  const made = await gateway.call(ownerKey, 'POST', '/internal/v1/owner/tenants', {
    slug,
    name: slug,
    ...settings,
  });
  const { id, admin_key: adminKey } = expectSuccess(made, 'making a tenant') as Record<string, string>;
  if (id === undefined || adminKey === undefined) throw new Error('the tenant has no id or key');
  const user = await gateway.call(adminKey, 'POST', '/v1/api-keys', { name: 'user', role: 'user' });
  return { id, slug, adminKey, userKey: String(expectSuccess(user, 'making a key')['key']) };
}
