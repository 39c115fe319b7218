import { z } from 'zod';
import {
  createOwnerApiKey,
  listOwnerApiKeys,
  ownerApiKey,
  ownerApiKeyList,
  ownerApiKeyWithText,
} from './keys.ts';
import { created, ok, owner, pageOf, routesWith, type Route } from './route.ts';

/** Has the form of a key, but is not valid. */
const textExample = 'gwk_3Kd8PsYv6QfJ1bTn_xW9aZc2MhR7uLq4GtE0sVyB6nDk3JfP8oXi5CmT1rHw';

export const ownerKeyExample = {
  id: '0198c2e1-4c6d-7a93-b5e8-9f0d2a3c4e87',
  name: 'Night shift',
  role: 'owner',
  scopes: ['transfers.write'],
  user_id: null,
  prefix: 'gwk_3Kd8PsYv6QfJ1bTn',
  status: 'active',
  limits: null,
  budget: null,
  created_by: null,
  created_at: '2026-01-10T08:00:00.000Z',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  toolsets: null,
  client_settings: null,
  resource: null,
  client: null,
  tenant_id: null,
};

const route = routesWith({ service: 'tenant', access: owner });

export const routes: readonly Route[] = [
  route('owner.api-keys.list', 'GET /internal/v1/owner/api-keys', {
    query: listOwnerApiKeys,
    response: ok(ownerApiKeyList),
    summary: 'Audit owner and admin keys',
    description: 'Returns metadata only: the text of a key is never shown again.',
    examples: {
      unused: {
        summary: 'Active keys that were not used since January 1',
        query: { status: 'active', unused_since: '2026-01-01T00:00:00Z' },
        response: pageOf(ownerKeyExample),
      },
    },
  }),
  route('owner.api-keys.create', 'POST /internal/v1/owner/api-keys', {
    idempotencyKey: true,
    body: createOwnerApiKey,
    response: created(ownerApiKeyWithText),
    nullInDryRun: ['id', 'prefix', 'key'],
    summary: 'Create an owner key, or an admin key of a tenant',
    description: 'An admin key needs the `tenant_id` of its tenant; an owner key has none.',
    examples: {
      owner: {
        summary: 'Another owner key',
        body: { name: ownerKeyExample.name, role: ownerKeyExample.role },
        response: { ...ownerKeyExample, key: textExample },
      },
    },
  }),
  route('owner.api-keys.revoke', 'POST /internal/v1/owner/api-keys/{id}/revoke', {
    body: z.strictObject({}),
    response: ok(ownerApiKey),
    summary: 'Revoke any API key',
    description: "The last active owner key can't be revoked.",
    examples: {
      now: {
        summary: 'Without fields',
        params: { id: ownerKeyExample.id },
        body: {},
        response: { ...ownerKeyExample, status: 'revoked', revoked_at: '2026-01-12T08:00:00.000Z' },
      },
    },
  }),
];
