import { z } from 'zod';
import { listOf, page, storableText, timestamp, usd, userId, utcTime, uuid } from './fields.ts';
import { roles, scopes } from './scopes.ts';

/** API keys: `/v1/api-keys*`, `/v1/whoami` and the owner's `/internal/v1/owner/api-keys*` (contract §2, §3). */

export const keyStatus = z.enum(['active', 'expiring', 'expired', 'revoked']);

export const limits = z.strictObject({
  requests_per_minute: z.int().min(1).max(10_000_000).nullable().optional(),
  tokens_per_minute: z.int().min(1).max(1_000_000_000).nullable().optional(),
  max_concurrent: z.int().min(1).max(1_000_000).nullable().optional(),
});
export type Limits = z.output<typeof limits>;

export const budget = z.strictObject({ usd, period: z.enum(['month', 'day']) });
export type Budget = z.output<typeof budget>;

export const apiKey = z.strictObject({
  id: uuid,
  name: z.string(),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  user_id: z.string().nullable(),
  prefix: z.string().describe("The public half of the key's text, for recognising it: `gwk_<id>`"),
  status: keyStatus.describe('`expiring`: rotated, and the old secret still works'),
  limits: limits.nullable(),
  budget: budget.nullable(),
  created_by: z.string().nullable(),
  created_at: utcTime,
  last_used_at: utcTime.nullable(),
  expires_at: utcTime.nullable(),
  revoked_at: utcTime.nullable(),
});
export type ApiKey = z.output<typeof apiKey>;

const keyText = z.string().describe('The text that `Authorization: Bearer` takes; shown this once');

/** Shown once, at creation and rotation: the only time the full text leaves the gateway. */
export const apiKeyWithText = apiKey.extend({ key: keyText });

export const ownerApiKey = apiKey.extend({ tenant_id: uuid.nullable() });
export const ownerApiKeyWithText = ownerApiKey.extend({ key: keyText });

const newKey = {
  name: storableText(1, 200),
  scopes: z.array(z.enum(scopes)).max(scopes.length).optional(),
  expires_at: timestamp.nullable().optional(),
};

export const createApiKey = z.strictObject({
  ...newKey,
  role: z.enum(['admin', 'user']),
  user_id: userId.nullable().optional().describe('Binds the key to this end user'),
  limits: limits.nullable().optional(),
  budget: budget.nullable().optional(),
});
export type CreateApiKey = z.output<typeof createApiKey>;

export const rotateApiKey = z.strictObject({
  overlap_seconds: z.int().min(0).max(86_400).default(0).describe('How long the old secret goes on working'),
});

export const listApiKeys = z.strictObject(page);
export const apiKeyList = listOf(apiKey);

export const createOwnerApiKey = z.strictObject({
  ...newKey,
  role: z.enum(['owner', 'admin']),
  tenant_id: uuid.nullable().optional().describe('Required for an admin key, absent for an owner key'),
});

export const listOwnerApiKeys = z.strictObject({
  ...page,
  role: z.enum(roles).optional(),
  tenant_id: uuid.optional(),
  status: keyStatus.optional(),
  unused_since: timestamp.optional().describe('Keys not used since then, never used ones included'),
});
export const ownerApiKeyList = listOf(ownerApiKey);

export const whoami = z.strictObject({
  key_id: uuid,
  tenant_id: uuid.nullable(),
  tenant_slug: z.string().nullable(),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  user_id: z.string().nullable(),
});
