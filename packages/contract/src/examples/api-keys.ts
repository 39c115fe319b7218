import type { Examples } from './example.ts';

/** Of the form of a key, and nobody's. */
const text = 'gwk_7Hq2LmXw9RtB4cNz_kq3T8vYb1LxWm6RzUeJ2oFhN5sPd9GaC4iVt7MyX0wE';

const apiKey = {
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
};

const params = { id: apiKey.id };

export const apiKeyExamples: Record<string, Examples> = {
  'api-keys.list': {
    page: {
      summary: 'The newest',
      query: { limit: 20 },
      response: { data: [apiKey], has_more: false, next_cursor: null },
    },
  },
  'api-keys.create': {
    limited: {
      summary: 'Fewer scopes than its role has, a limit and a budget',
      body: {
        name: apiKey.name,
        role: apiKey.role,
        scopes: apiKey.scopes,
        limits: apiKey.limits,
        budget: apiKey.budget,
      },
      response: { ...apiKey, key: text },
    },
    bound: {
      summary: 'Bound to one end user, until a day',
      body: { name: "Ada's notebook", role: 'user', user_id: 'ada', expires_at: '2099-12-31T23:59:59Z' },
      response: {
        ...apiKey,
        name: "Ada's notebook",
        scopes: ['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write'],
        user_id: 'ada',
        limits: null,
        budget: null,
        expires_at: '2099-12-31T23:59:59.000Z',
        key: text,
      },
    },
  },
  'api-keys.get': {
    key: { summary: 'One key', params, response: apiKey },
  },
  'api-keys.revoke': {
    now: {
      summary: 'Takes no fields',
      params,
      body: {},
      response: { ...apiKey, status: 'revoked', revoked_at: '2026-01-12T08:00:00.000Z' },
    },
  },
  'api-keys.rotate': {
    overlap: {
      summary: 'Both secrets work for an hour',
      params,
      body: { overlap_seconds: 3_600 },
      response: { ...apiKey, status: 'expiring', key: text },
    },
  },
};
