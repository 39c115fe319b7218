import type { Examples } from './example.ts';

/** Of the form of a key, and nobody's. */
const text = 'gwk_3Kd8PsYv6QfJ1bTn_xW9aZc2MhR7uLq4GtE0sVyB6nDk3JfP8oXi5CmT1rHw';

const tenant = {
  id: '0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55',
  slug: 'acme',
  name: 'Acme Ltd',
  status: 'active',
  limits: { requests_per_minute: 3_000, max_concurrent: 50 },
  budget: { usd: '500.00', period: 'month' },
  allowed_models: null,
  timezone: 'Europe/Berlin',
  retention_days: 90,
  previews: { enabled: true, max_chars: 500 },
  created_at: '2026-01-10T08:00:00.000Z',
  updated_at: '2026-01-10T08:00:00.000Z',
};

const ownerKey = {
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
  tenant_id: null,
};

const change = {
  id: '0198c304-2b3c-7d15-87a0-1c2d3e4f5a09',
  at: '2026-01-12T08:00:00.000Z',
  action: 'tenant.updated',
  actor: { key_id: ownerKey.id, role: 'owner', user_id: null },
  tenant_id: tenant.id,
  resource: { type: 'tenant', id: tenant.id },
  client_ip: '203.0.113.7',
  request_id: '0198c304-2b3a-7e41-9f60-5d6e7f8a9b10',
  before: tenant,
  after: { ...tenant, status: 'suspended', updated_at: '2026-01-12T08:00:00.000Z' },
};

export const ownerExamples: Record<string, Examples> = {
  'owner.audit-log.list': {
    suspensions: {
      summary: 'Changes of tenants since the new year',
      query: { action: 'tenant.updated', from: '2026-01-01T00:00:00Z' },
      response: { data: [change], has_more: false, next_cursor: null },
    },
  },
  'owner.api-keys.list': {
    unused: {
      summary: 'Keys that work and were not used since then',
      query: { status: 'active', unused_since: '2026-01-01T00:00:00Z' },
      response: { data: [ownerKey], has_more: false, next_cursor: null },
    },
  },
  'owner.api-keys.create': {
    owner: {
      summary: 'Another owner key',
      body: { name: ownerKey.name, role: ownerKey.role },
      response: { ...ownerKey, key: text },
    },
  },
  'owner.api-keys.revoke': {
    now: {
      summary: 'Takes no fields',
      params: { id: ownerKey.id },
      body: {},
      response: { ...ownerKey, status: 'revoked', revoked_at: '2026-01-12T08:00:00.000Z' },
    },
  },
  'owner.tenants.list': {
    active: {
      summary: 'Tenants at work',
      query: { status: 'active', limit: 20 },
      response: { data: [tenant], has_more: false, next_cursor: null },
    },
  },
  'owner.tenants.create': {
    limited: {
      summary: 'With limits, a budget and a time zone',
      body: {
        slug: tenant.slug,
        name: tenant.name,
        limits: tenant.limits,
        budget: tenant.budget,
        timezone: tenant.timezone,
      },
      response: { ...tenant, admin_key: text },
    },
    least: {
      summary: 'The least',
      body: { slug: 'initech', name: 'Initech' },
      response: {
        ...tenant,
        id: '0198c2f3-6d8e-7c04-96f9-0a1b3c5d7e98',
        slug: 'initech',
        name: 'Initech',
        limits: {},
        budget: null,
        timezone: 'UTC',
        admin_key: text,
      },
    },
  },
  'owner.tenants.get': {
    tenant: { summary: 'One tenant', params: { id: tenant.id }, response: tenant },
  },
  'owner.tenants.patch': {
    suspend: {
      summary: 'Suspend it',
      params: { id: tenant.id },
      body: { status: 'suspended' },
      response: { ...tenant, status: 'suspended', updated_at: '2026-01-12T08:00:00.000Z' },
    },
    lift: {
      summary: 'Lift one limit, and allow two models only',
      params: { id: tenant.id },
      body: { limits: { max_concurrent: null }, allowed_models: ['gpt-4.1-mini', 'gpt-4.1-nano'] },
      response: {
        ...tenant,
        limits: { requests_per_minute: 3_000 },
        allowed_models: ['gpt-4.1-mini', 'gpt-4.1-nano'],
        updated_at: '2026-01-12T08:00:00.000Z',
      },
    },
  },
};
