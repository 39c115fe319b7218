import { z } from 'zod';
import { listOf, page, setOf, slug, storableForm, storableText, utcTime, uuid } from './fields.ts';
import { budget, limits, maxConcurrent } from './keys.ts';
import { isTimezone, timezonePattern } from './timezone.ts';
import { created, ok, owner, pageOf, pick, route, routesWith, scope, type Route } from './route.ts';

/** Tenants: `/internal/v1/owner/tenants*`, and `/v1/tenant/settings` for their admins. */

export const tenantStatus = z.enum(['active', 'suspended', 'archived']);
export type TenantStatus = z.output<typeof tenantStatus>;

const timezone = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be an IANA time zone such as "Europe/Berlin"')
  .meta({ pattern: timezonePattern })
  .describe('IANA time zone that defines the days and months of the tenant');

/** The most to be remembered by all agents of the tenant together. */
export const memoryLimits = z
  .strictObject({
    documents: z.int().min(0).max(1_000_000_000).nullable().optional(),
    bytes: z
      .int()
      .min(0)
      .max(2 ** 50)
      .nullable()
      .optional()
      .describe('Text of documents as UTF-8'),
    entities: z.int().min(0).max(1_000_000_000).nullable().optional(),
  })
  .describe('Absent or `null` means the default: 100,000 documents, 5 GiB and 1,000,000 entities');
export type MemoryLimits = z.output<typeof memoryLimits>;

export const tenantLimits = limits.extend({ memory: memoryLimits.nullable().optional() });

/** A tenant without any limit could keep the event loops of all replicas busy. */
const usualConcurrent = 1_000;

const newTenantLimits = tenantLimits
  .extend({
    max_concurrent: maxConcurrent
      .default(usualConcurrent)
      .describe('1,000 unless you name another limit; `null` for none'),
  })
  .default({ max_concurrent: usualConcurrent });

const previewFields = { enabled: z.boolean(), max_chars: z.int().min(1).max(10_000) };
/** Without `enabled`, `content` decides. */
const newPreviews = z.strictObject({
  enabled: previewFields.enabled.optional().describe('`true`, unless `content` is `off`'),
  max_chars: previewFields.max_chars.default(500),
});
export interface Previews {
  enabled: boolean;
  max_chars: number;
}

/** The texts of runs that are stored. */
export const content = z
  .enum(['off', 'previews', 'full'])
  .describe(
    'Texts of runs that are stored: none, previews, or previews and everything that `GET /v1/traces/{id}/content` returns. `off` is the same as `previews.enabled: false`',
  );
export type Content = z.output<typeof content>;

/** The longest retention of a tenant's texts. */
export const maxRetentionDays = 3_650;

/** The users of runs. */
export const actingUsers = z
  .enum(['any', 'required', 'known'])
  .describe(
    'Whom runs act for. `any`: any user, or none. `required`: runs without a user are refused with `acting_user_required`. `known`: runs for users outside the directory are refused as well, with `user_unknown`',
  );
export type ActingUsers = z.output<typeof actingUsers>;

/** The user ids of users that SCIM makes. */
export const scimUserId = z
  .enum(['externalId', 'userName'])
  .describe(
    'The attribute of SCIM that becomes the `user_id` of a new user; the other one becomes an alias. Without `externalId`, it is `userName`',
  );
export type ScimUserId = z.output<typeof scimUserId>;

/** Keys made by users for themselves. */
const userKeyFields = {
  enabled: z.boolean(),
  max: z.int().min(0).max(1_000),
  max_days: z.int().min(1).max(3_650),
};
export const userKeys = z.strictObject({
  enabled: userKeyFields.enabled.default(true),
  max: userKeyFields.max.default(5),
  max_days: userKeyFields.max_days.default(90),
});
export type UserKeys = z.output<typeof userKeys>;

export const tenant = z.strictObject({
  id: uuid,
  slug,
  name: z.string(),
  status: tenantStatus,
  limits: tenantLimits,
  budget: budget.nullable(),
  allowed_models: setOf(z.string()).nullable(),
  timezone: z.string(),
  retention_days: z.int(),
  previews: z.strictObject({ enabled: z.boolean(), max_chars: z.int() }),
  content,
  user_keys: z
    .strictObject({ enabled: z.boolean(), max: z.int(), max_days: z.int() })
    .describe('Whether users make keys for themselves, how many each, and for how many days at most'),
  acting_users: actingUsers,
  scim_user_id: scimUserId,
  created_at: utcTime,
  updated_at: utcTime,
});
export type Tenant = z.output<typeof tenant>;

const allowedModel = storableForm(
  1,
  256,
  new RegExp(String.raw`^[^\x00*]*\*?$`),
  'must not contain NUL, nor * before its end, nor lone surrogates',
);

const settings = {
  limits: tenantLimits,
  budget: budget.nullable(),
  allowed_models: setOf(allowedModel)
    .max(1_000)
    .nullable()
    .describe(
      '`null` allows all models of the catalogue. An entry that ends in `*` allows all whose id begins with the rest',
    ),
  timezone,
  retention_days: z.int().min(1).max(maxRetentionDays),
};

export const createTenant = z.strictObject({
  slug,
  name: storableText(1, 200),
  limits: newTenantLimits,
  budget: settings.budget.default(null),
  allowed_models: settings.allowed_models.default(null),
  timezone: settings.timezone.default('UTC'),
  retention_days: settings.retention_days.default(90),
  previews: newPreviews.default({ max_chars: 500 }),
  content: content.optional().describe('`previews`, unless `previews.enabled` is `false`'),
  user_keys: userKeys.default({ enabled: true, max: 5, max_days: 90 }),
  acting_users: actingUsers.default('any'),
  scim_user_id: scimUserId.default('externalId'),
});
export type CreateTenant = z.output<typeof createTenant>;

/** A JSON merge patch (RFC 7396): absent members stay unchanged. */
export const patchTenant = z
  .strictObject({
    ...{ slug, name: storableText(1, 200), status: tenantStatus, ...settings },
    previews: z.strictObject(previewFields).partial(),
    content,
    user_keys: z.strictObject(userKeyFields).partial(),
    acting_users: actingUsers,
    scim_user_id: scimUserId,
  })
  .partial();
export type PatchTenant = z.output<typeof patchTenant>;

/** The settings open to admins of a tenant. */
const adminSettings = {
  timezone: true,
  previews: true,
  content: true,
  user_keys: true,
  acting_users: true,
  scim_user_id: true,
} as const;
export const adminTenantSettings = tenant.pick(adminSettings);
export type AdminTenantSettings = z.output<typeof adminTenantSettings>;
export const patchOwnSettings = patchTenant.pick(adminSettings);
export type PatchOwnSettings = z.output<typeof patchOwnSettings>;

/** The response to creation, with the first admin key. */
export const tenantWithKey = tenant.extend({
  admin_key: z.string().describe('The text of the first admin key; shown only in this response'),
});

export const listTenants = z.strictObject({
  ...page,
  status: tenantStatus.optional(),
  q: storableText(1, 200).optional(),
});
export const tenantList = listOf(tenant);

/** Has the form of a key, but is not valid. */
const textExample = 'gwk_3Kd8PsYv6QfJ1bTn_xW9aZc2MhR7uLq4GtE0sVyB6nDk3JfP8oXi5CmT1rHw';

export const tenantExample = {
  id: '0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55',
  slug: 'acme',
  name: 'Acme Ltd',
  status: 'active',
  limits: { requests_per_minute: 3_000, max_concurrent: 50, memory: { documents: 20_000 } },
  budget: { usd: '500.00', period: 'month' },
  allowed_models: null,
  timezone: 'Europe/Berlin',
  retention_days: 90,
  previews: { enabled: true, max_chars: 500 },
  content: 'previews',
  user_keys: { enabled: true, max: 5, max_days: 90 },
  acting_users: 'any',
  scim_user_id: 'externalId',
  created_at: '2026-01-10T08:00:00.000Z',
  updated_at: '2026-01-10T08:00:00.000Z',
};

const settingsExample = pick(
  tenantExample,
  ...(['timezone', 'previews', 'content', 'user_keys', 'acting_users', 'scim_user_id'] as const),
);
const settingsRoute = routesWith({
  service: 'tenant',
  access: scope('keys.write'),
  response: ok(adminTenantSettings),
});

export const routes: readonly Route[] = [
  settingsRoute('tenant.settings.get', 'GET /v1/tenant/settings', {
    summary: 'Get the settings of the tenant that its admins may change',
    examples: { settings: { summary: 'The defaults in another time zone', response: settingsExample } },
  }),
  settingsRoute('tenant.settings.patch', 'PATCH /v1/tenant/settings', {
    body: patchOwnSettings,
    summary: 'Change settings of the tenant',
    description:
      'Send only the fields to change (RFC 7396). All other settings are for the owner of the platform.',
    examples: {
      keys: {
        summary: 'Users make no keys for themselves',
        body: { user_keys: { enabled: false } },
        response: { ...settingsExample, user_keys: { ...settingsExample.user_keys, enabled: false } },
      },
      content: {
        summary: 'Store the content of runs',
        body: { content: 'full' },
        response: { ...settingsExample, content: 'full' },
      },
    },
  }),
  route('owner.tenants.list', 'GET /internal/v1/owner/tenants', {
    service: 'tenant',
    access: owner,
    query: listTenants,
    response: ok(tenantList),
    summary: 'List tenants',
    examples: {
      active: {
        summary: 'Active tenants',
        query: { status: 'active', limit: 20 },
        response: pageOf(tenantExample),
      },
    },
  }),
  route('owner.tenants.create', 'POST /internal/v1/owner/tenants', {
    service: 'tenant',
    access: owner,
    idempotencyKey: true,
    body: createTenant,
    response: created(tenantWithKey),
    nullInDryRun: ['id', 'admin_key'],
    summary: 'Create a tenant with its first admin key',
    examples: {
      limited: {
        summary: 'With limits, a budget and a time zone',
        body: pick(tenantExample, 'slug', 'name', 'limits', 'budget', 'timezone'),
        response: { ...tenantExample, admin_key: textExample },
      },
      least: {
        summary: 'Only required fields',
        body: { slug: 'initech', name: 'Initech' },
        response: {
          ...tenantExample,
          id: '0198c2f3-6d8e-7c04-96f9-0a1b3c5d7e98',
          slug: 'initech',
          name: 'Initech',
          limits: { max_concurrent: usualConcurrent },
          budget: null,
          timezone: 'UTC',
          admin_key: textExample,
        },
      },
    },
  }),
  route('owner.tenants.get', 'GET /internal/v1/owner/tenants/{id}', {
    service: 'tenant',
    access: owner,
    response: ok(tenant),
    summary: 'Get a tenant',
    examples: {
      tenant: { summary: 'One tenant', params: { id: tenantExample.id }, response: tenantExample },
    },
  }),
  route('owner.tenants.patch', 'PATCH /internal/v1/owner/tenants/{id}', {
    service: 'tenant',
    access: owner,
    body: patchTenant,
    response: ok(tenant),
    summary: 'Change, suspend or archive a tenant',
    description:
      'Send only the fields to change (RFC 7396). Requests with keys of a suspended or archived tenant get 403 within 5 seconds.',
    examples: {
      suspend: {
        summary: 'Suspend the tenant',
        params: { id: tenantExample.id },
        body: { status: 'suspended' },
        response: { ...tenantExample, status: 'suspended', updated_at: '2026-01-12T08:00:00.000Z' },
      },
      lift: {
        summary: 'Remove one limit and allow only two models',
        params: { id: tenantExample.id },
        body: { limits: { max_concurrent: null }, allowed_models: ['gpt-4.1-mini', 'gpt-4.1-nano'] },
        response: {
          ...tenantExample,
          limits: { requests_per_minute: 3_000, memory: { documents: 20_000 } },
          allowed_models: ['gpt-4.1-mini', 'gpt-4.1-nano'],
          updated_at: '2026-01-12T08:00:00.000Z',
        },
      },
    },
  }),
];
