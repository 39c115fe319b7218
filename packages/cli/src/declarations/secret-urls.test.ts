import { expect, it } from '@jest/globals';
import { mayHoldSecret, withoutSecret } from './secret-urls.ts';

it.each([
  'https://hooks.slack.com/services/T024BE7LD/B024BE91L/aBcDeFgHiJkLmNoPqRsTuVwX',
  'https://discord.com/api/webhooks/1234567890123456/token',
  'https://example.com/hooks/0198c2d0-6a1b-7c38-b1d4-3c6e8f1a2b76',
  'https://example.com/in/abcdefghijklmnopqrstuvwxyz',
  'https://example.com/events?token=abc',
  'https://user:password@mcp.example.com/mcp',
  'https://mcp.example.com/mcp#key',
])('%s may hold a secret', (url) => {
  expect(mayHoldSecret(url)).toBe(true);
  expect(withoutSecret(url)).toMatch(/^https:\/\/[a-z.]+\/…$/);
});

it.each([
  'https://example.com',
  'https://example.com/notifications/v2/events-of-production',
  'https://example.com:8443/api/webhookEvents/2026/results.json',
  'no URL: 0198c2d06a1b7c38b1d43c6e8f1a2b76',
])('%s holds none', (url) => {
  expect(withoutSecret(url)).toBe(url);
});
