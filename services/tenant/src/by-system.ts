/** The audit context of a change outside of any request, made without an API key. */
export const bySystem = {
  actor: { key_id: null, role: 'system', user_id: null },
  tenantId: null,
  clientIp: null,
  requestId: null,
} as const;
