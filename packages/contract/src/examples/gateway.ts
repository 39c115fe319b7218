import { protocolVersion } from '../health.ts';
import type { Examples } from './example.ts';

export const gatewayExamples: Record<string, Examples> = {
  health: {
    ok: {
      summary: 'The gateway serves',
      response: { status: 'ok', protocol: protocolVersion, version: '0.1.0' },
    },
  },
  openapi: {
    document: {
      summary: 'The document, cut short',
      response: { openapi: '3.1.1', info: { title: 'Gatehouse', version: '0.1.0' }, paths: {} },
    },
  },
  whoami: {
    user: {
      summary: 'A user key of a tenant',
      response: {
        key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
        tenant_id: '0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55',
        tenant_slug: 'demo',
        role: 'user',
        scopes: ['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write'],
        user_id: null,
      },
    },
  },
  'limits.get': {
    tenant: {
      summary: 'Requests of the minute, requests at a time and the money of the month',
      response: {
        limits: [
          {
            resource: 'requests',
            window: 'minute',
            limit: 600,
            used: 41,
            remaining: 559,
            resets_at: '2026-01-10T09:01:00.000Z',
          },
          { resource: 'concurrency', window: null, limit: 20, used: 3, remaining: 17, resets_at: null },
          {
            resource: 'budget',
            window: 'month',
            limit: '50.000000000000',
            used: '12.340500000000',
            remaining: '37.659500000000',
            resets_at: '2026-02-01T00:00:00.000Z',
          },
        ],
      },
    },
  },
};
