import { z } from 'zod';
import { listOf, modelId, page, slug, storableText, utcTime, uuid } from './fields.ts';
import { budget, limits } from './keys.ts';
import { isTimezone } from './timezone.ts';

/** Tenants, for the owner: `/internal/v1/owner/tenants*` (contract §3). */

export const tenantStatus = z.enum(['active', 'suspended', 'archived']);
export type TenantStatus = z.output<typeof tenantStatus>;

const timezone = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be an IANA time zone such as "Europe/Berlin"')
  .describe('IANA time zone: when a day or month of the tenant begins');

export const previews = z.strictObject({
  enabled: z.boolean().default(true),
  max_chars: z.int().min(1).max(10_000).default(500),
});
export type Previews = z.output<typeof previews>;

export const tenant = z.strictObject({
  id: uuid,
  slug,
  name: z.string(),
  status: tenantStatus,
  limits,
  budget: budget.nullable(),
  allowed_models: z.array(z.string()).nullable(),
  timezone: z.string(),
  retention_days: z.int(),
  previews: z.strictObject({ enabled: z.boolean(), max_chars: z.int() }),
  created_at: utcTime,
  updated_at: utcTime,
});
export type Tenant = z.output<typeof tenant>;

const settings = {
  limits,
  budget: budget.nullable(),
  allowed_models: z
    .array(modelId)
    .max(1_000)
    .nullable()
    .describe('`null` allows every model of the catalogue'),
  timezone,
  retention_days: z.int().min(1).max(3_650),
};

export const createTenant = z.strictObject({
  slug,
  name: storableText(1, 200),
  limits: settings.limits.default({}),
  budget: settings.budget.default(null),
  allowed_models: settings.allowed_models.default(null),
  timezone: settings.timezone.default('UTC'),
  retention_days: settings.retention_days.default(90),
  previews: previews.default({ enabled: true, max_chars: 500 }),
});
export type CreateTenant = z.output<typeof createTenant>;

/** A JSON merge patch (RFC 7396): absent members stay. */
export const patchTenant = z.strictObject({
  slug: slug.optional(),
  name: storableText(1, 200).optional(),
  status: tenantStatus.optional(),
  limits: limits.optional(),
  budget: settings.budget.optional(),
  allowed_models: settings.allowed_models.optional(),
  timezone: settings.timezone.optional(),
  retention_days: settings.retention_days.optional(),
  previews: z
    .strictObject({ enabled: z.boolean().optional(), max_chars: z.int().min(1).max(10_000).optional() })
    .optional(),
});
export type PatchTenant = z.output<typeof patchTenant>;

/** The first admin key of the new tenant rides along, this once. */
export const tenantWithKey = tenant.extend({
  admin_key: z.string().describe('The text of its first admin key; shown this once'),
});

export const listTenants = z.strictObject({
  ...page,
  status: tenantStatus.optional(),
  q: storableText(1, 200).optional(),
});
export const tenantList = listOf(tenant);
