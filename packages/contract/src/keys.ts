import { z } from 'zod';
import { listOf, page, setOf, slug, storableText, timestamp, usd, userId, utcTime, uuid } from './fields.ts';
import { roles, scopes } from './scopes.ts';
import { created, ok, pageExample, pick, routesWith, scope, type Route } from './route.ts';

/** API keys: `/v1/api-keys*`, `/v1/whoami` and, for owners, `/internal/v1/owner/api-keys*`. */

export const keyStatus = z.enum(['active', 'expiring', 'expired', 'revoked']);

export const maxConcurrent = z.int().min(1).max(1_000_000).nullable();

export const limits = z.strictObject({
  requests_per_minute: z.int().min(1).max(10_000_000).nullable().optional(),
  tokens_per_minute: z.int().min(1).max(1_000_000_000).nullable().optional(),
  max_concurrent: maxConcurrent.optional(),
});
export type Limits = z.output<typeof limits>;

export const budget = z.strictObject({ usd, period: z.enum(['month', 'day']) });
export type Budget = z.output<typeof budget>;

/** The most toolsets named by a key: services pass the names on in a header. */
export const maxToolsetsOfKey = 50;

const toolsetsText = 'Names of the toolsets that it may use; `null`: all with the visibility `tenant`';
const settingsText = 'Name of the settings that its client gets';
const toolsets = setOf(z.string()).nullable().describe(toolsetsText);

export const apiKey = z.strictObject({
  id: uuid,
  name: z.string(),
  role: z.enum(roles),
  scopes: setOf(z.enum(scopes)),
  user_id: z.string().nullable(),
  prefix: z.string().describe('The public part of the key, to recognize it by: `gwk_<id>`'),
  status: keyStatus.describe('`expiring`: the key was rotated and its old secret still works'),
  limits: limits.nullable(),
  budget: budget.nullable(),
  created_by: z.string().nullable(),
  created_at: utcTime,
  last_used_at: utcTime
    .nullable()
    .describe('Noted once an hour at most, so up to an hour older than the last use'),
  expires_at: utcTime.nullable(),
  revoked_at: utcTime.nullable(),
  toolsets,
  client_settings: z.string().nullable().describe(settingsText),
  resource: z.string().nullable().describe('The address that it opens alone; `null`: all'),
  client: z.string().nullable().describe('The program that it was issued to by OAuth'),
});
export type ApiKey = z.output<typeof apiKey>;

const keyText = z
  .string()
  .describe('The secret key text for `Authorization: Bearer`; shown only in this response');

/** The response to creation and rotation, the only ones with the full text of the key. */
export const apiKeyWithText = apiKey.extend({ key: keyText });

export const ownerApiKey = apiKey.extend({ tenant_id: uuid.nullable() });
export const ownerApiKeyWithText = ownerApiKey.extend({ key: keyText });

const newKey = {
  name: storableText(1, 200),
  scopes: setOf(z.enum(scopes)).max(scopes.length).optional(),
  expires_at: timestamp.nullable().optional(),
};

/** Rights of a key beside its role, scopes and user, as a client gives them. */
const givenToolsets = setOf(slug).max(maxToolsetsOfKey).nullable();
const givenRights = {
  toolsets: givenToolsets.optional().describe(`${toolsetsText}. Default: those of the key that creates it`),
  client_settings: slug.nullable().optional().describe(settingsText),
};

export const createApiKey = z.strictObject({
  ...newKey,
  role: z.enum(['admin', 'user']),
  user_id: userId.nullable().optional().describe('Binds the key to this end user'),
  limits: limits.nullable().optional(),
  budget: budget.nullable().optional(),
  ...givenRights,
});
export type CreateApiKey = z.output<typeof createApiKey>;

export const patchApiKey = z
  .strictObject({
    name: newKey.name,
    scopes: setOf(z.enum(scopes)).max(scopes.length),
    toolsets: givenToolsets,
    client_settings: slug.nullable(),
  })
  .partial();
export type PatchApiKey = z.output<typeof patchApiKey>;

/** How long a replaced secret still works. */
export const overlapSeconds = z.int().min(0).max(86_400);

export const rotateApiKey = z.strictObject({
  overlap_seconds: overlapSeconds.default(0).describe('Seconds for which the old secret still works'),
});

export const listApiKeys = z.strictObject({
  ...page,
  user_id: userId.optional().describe('Only keys that are bound to this end user'),
});
export const apiKeyList = listOf(apiKey);

export const createOwnerApiKey = z.strictObject({
  ...newKey,
  role: z.enum(['owner', 'admin']),
  tenant_id: uuid.nullable().optional().describe('Required for an admin key; an owner key has none'),
});

export const listOwnerApiKeys = z.strictObject({
  ...page,
  role: z.enum(roles).optional(),
  tenant_id: uuid.optional(),
  status: keyStatus.optional(),
  unused_since: timestamp
    .optional()
    .describe('Only keys that were not used since this time, including unused keys'),
});
export const ownerApiKeyList = listOf(ownerApiKey);

export const whoami = z.strictObject({
  key_id: uuid,
  tenant_id: uuid.nullable(),
  tenant_slug: z.string().nullable(),
  role: z.enum(roles),
  scopes: setOf(z.enum(scopes)),
  user_id: z.string().nullable(),
  toolsets,
  resource: apiKey.shape.resource,
});

/** Has the form of a key, but is not valid. */
export const textExample = 'gwk_7Hq2LmXw9RtB4cNz_kq3T8vYb1LxWm6RzUeJ2oFhN5sPd9GaC4iVt7MyX0wE';

export const apiKeyExample: ApiKey = {
  id: '0198c2d0-5e7f-7b38-a9d4-3c6e8f1a2b76',
  name: 'Mobile app',
  role: 'user',
  scopes: ['chat', 'agents.read'],
  user_id: null,
  prefix: 'gwk_7Hq2LmXw9RtB4cNz',
  status: 'active',
  limits: { requests_per_minute: 600 },
  budget: { usd: '50.00', period: 'month' },
  created_by: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
  created_at: '2026-01-10T09:00:00.000Z',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  toolsets: null,
  client_settings: null,
  resource: null,
  client: null,
};

const paramsExample = { id: apiKeyExample.id };

const route = routesWith({ service: 'tenant', access: scope('keys.write') });

export const routes: readonly Route[] = [
  route('whoami', 'GET /v1/whoami', {
    access: { kind: 'key' },
    response: ok(whoami),
    summary: 'Get the role, scopes and tenant of the key',
    examples: {
      user: {
        summary: 'A user key of a tenant',
        response: {
          key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
          tenant_id: '0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55',
          tenant_slug: 'demo',
          role: 'user',
          scopes: ['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write'],
          user_id: null,
          toolsets: null,
          resource: null,
        },
      },
    },
  }),
  route('api-keys.list', 'GET /v1/api-keys', {
    query: listApiKeys,
    response: ok(apiKeyList),
    summary: 'List the API keys of the tenant',
    examples: pageExample('The newest key', apiKeyExample),
  }),
  route('api-keys.create', 'POST /v1/api-keys', {
    idempotencyKey: true,
    body: createApiKey,
    response: created(apiKeyWithText),
    nullInDryRun: ['id', 'prefix', 'key'],
    summary: 'Create an API key; its text is shown only in this response',
    description:
      'A key cannot have more rights than its creator: role, scopes and bound user. Without `scopes`, it has all scopes of its role.',
    examples: {
      limited: {
        summary: 'With fewer scopes than its role, a limit and a budget',
        body: pick(apiKeyExample, 'name', 'role', 'scopes', 'limits', 'budget'),
        response: { ...apiKeyExample, key: textExample },
      },
      bound: {
        summary: 'Bound to an end user, with an expiry',
        body: { name: "Ada's notebook", role: 'user', user_id: 'ada', expires_at: '2099-12-31T23:59:59Z' },
        response: {
          ...apiKeyExample,
          name: "Ada's notebook",
          scopes: ['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write'],
          user_id: 'ada',
          limits: null,
          budget: null,
          expires_at: '2099-12-31T23:59:59.000Z',
          key: textExample,
        },
      },
    },
  }),
  route('api-keys.get', 'GET /v1/api-keys/{id}', {
    response: ok(apiKey),
    summary: 'Get an API key',
    examples: { key: { summary: 'A key', params: paramsExample, response: apiKeyExample } },
  }),
  route('api-keys.patch', 'PATCH /v1/api-keys/{id}', {
    body: patchApiKey,
    response: ok(apiKey),
    summary: 'Change the name, the scopes or the toolsets of an API key',
    description:
      'Send only the members to change. A key gets no more rights than its role has and its changer could give to a new one. Takes effect within 5 seconds; sessions of the key, and the keys made with it, lose what it loses. A key of a login, and one made with another key, takes its rights from there: 409 `key_managed_by_login`.',
    examples: {
      scopes: {
        summary: 'Call tools of two toolsets, and nothing else',
        params: paramsExample,
        body: { scopes: ['tools.call'], toolsets: ['support', 'docs'] },
        response: { ...apiKeyExample, scopes: ['tools.call'], toolsets: ['support', 'docs'] },
      },
    },
  }),
  route('api-keys.revoke', 'POST /v1/api-keys/{id}/revoke', {
    body: z.strictObject({}),
    response: ok(apiKey),
    summary: 'Revoke an API key',
    description:
      'Takes effect within 5 seconds; running streams finish. Revoking a revoked key has no effect.',
    examples: {
      now: {
        summary: 'Without fields',
        params: paramsExample,
        body: {},
        response: { ...apiKeyExample, status: 'revoked', revoked_at: '2026-01-12T08:00:00.000Z' },
      },
    },
  }),
  route('api-keys.rotate', 'POST /v1/api-keys/{id}/rotate', {
    idempotencyKey: true,
    body: rotateApiKey,
    response: ok(apiKeyWithText),
    nullInDryRun: ['key'],
    summary: 'Rotate the secret of an API key; the old secret works during the overlap',
    examples: {
      overlap: {
        summary: 'Both secrets work for an hour',
        params: paramsExample,
        body: { overlap_seconds: 3_600 },
        response: { ...apiKeyExample, status: 'expiring', key: textExample },
      },
    },
  }),
];
