import type { Call, Handler } from '@gatehouse/http/app';

/** `GET /v1/whoami`: the principal that the edge asserted for the key. */
export function whoamiHandlers(): Record<string, Handler> {
  return {
    whoami: async ({ principal }: Call) => ({
      body: {
        key_id: principal.keyId,
        tenant_id: principal.tenantId,
        tenant_slug: principal.tenantSlug,
        role: principal.role,
        scopes: principal.scopes,
        user_id: principal.boundUser,
      },
    }),
  };
}
