import type { Call, Handler } from '@gatehouse/http/app';

/** `GET /v1/whoami`: what the edge found out about the key, which is all there is to tell. */
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
