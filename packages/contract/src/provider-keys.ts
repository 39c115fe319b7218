import { z } from 'zod';
import { listOf, modelId, page, setOf, storableForm, storableText, userId, utcTime, uuid } from './fields.ts';
import { created, noContent, ok, pageOf, routesWith, scope, type Route } from './route.ts';

/** Keys of a tenant's own for model providers: `/v1/provider-keys*`. */

export const providerKey = z.strictObject({
  id: uuid,
  provider: z.string(),
  prefix: z.string().describe('The first characters of the key, to recognize it by'),
  models: z
    .array(z.string())
    .nullable()
    .describe('Models or patterns that the key is for; `null` for all of the provider'),
  user_id: z.string().nullable().describe('The user whose requests the key is for; `null` for all'),
  created_at: utcTime,
  last_used_at: utcTime.nullable(),
  status: z
    .enum(['active', 'failing'])
    .describe('`failing`: the provider refused the key when it was used last'),
});
export type ProviderKey = z.output<typeof providerKey>;

export const createProviderKey = z.strictObject({
  provider: storableText(1, 63).describe('Name of a provider of the catalogue: `owned_by` of its models'),
  key: storableForm(8, 4_096, /^[\x21-\x7e]*$/, 'must be printable ASCII characters without spaces').describe(
    'Encrypted, and never shown again',
  ),
  models: setOf(modelId).min(1).max(100).nullable().optional(),
  user_id: userId.nullable().optional(),
});
export type CreateProviderKey = z.output<typeof createProviderKey>;

export const listProviderKeys = z.strictObject(page);
export const providerKeyList = listOf(providerKey);

const example: ProviderKey = {
  id: '0198c2f3-6d2a-7e41-8b07-2f9c4a1d5e63',
  provider: 'openai',
  prefix: 'sk-proj-',
  models: null,
  user_id: null,
  created_at: '2026-01-10T09:00:00.000Z',
  last_used_at: null,
  status: 'active',
};

const route = routesWith({ service: 'tenant', access: scope('keys.write') });

export const routes: readonly Route[] = [
  route('provider-keys.list', 'GET /v1/provider-keys', {
    query: listProviderKeys,
    response: ok(providerKeyList),
    summary: "List the tenant's keys for providers, without their text",
    examples: { page: { summary: 'The newest ones', response: pageOf(example) } },
  }),
  route('provider-keys.create', 'POST /v1/provider-keys', {
    idempotencyKey: true,
    body: createProviderKey,
    response: created(providerKey),
    summary: "Give a key of the tenant's own for a provider",
    description: [
      "Takes effect within 5 seconds. Requests of the tenant for the provider's models are then made with this key alone, never with the platform's: when the provider refuses it, they fail with `provider_key_failing`.",
      'Their costs are listed apart and are not part of budgets. The key is checked first where the provider has a call for it that costs nothing; a tenant can give 20 keys a minute. Of several keys, one for the acting user is taken before one for all users, then the newest.',
    ].join('\n\n'),
    examples: {
      all: {
        summary: 'For all users and models',
        body: { provider: example.provider, key: 'sk-proj-replace-me' },
        response: example,
      },
      user: {
        summary: 'For one user and one model',
        body: { provider: 'openai', key: 'sk-proj-replace-me', models: ['gpt-4.1-mini'], user_id: 'grace' },
        response: { ...example, models: ['gpt-4.1-mini'], user_id: 'grace' },
      },
    },
  }),
  route('provider-keys.delete', 'DELETE /v1/provider-keys/{id}', {
    response: noContent,
    summary: "Delete a key of the tenant's own",
    description:
      "Takes effect within 5 seconds; requests are then made with another key of the tenant, else with the platform's.",
    examples: { key: { summary: 'A key', params: { id: example.id } } },
  }),
];
