import { describe, expect, it } from '@jest/globals';
import { changesOf } from './tenant-limits.ts';

describe('the limits of a tenant that a page changes', () => {
  const before = {
    ...{ requests_per_minute: '60', tokens_per_minute: '', max_concurrent: '5' },
    ...{ name: 'Acme', slug: 'acme', timezone: 'UTC', retention_days: '90' },
    ...{ usd: '100.00', period: 'month', models: 'gpt-4*' },
  };

  it.each([
    [{}, {}],
    [{ name: 'Acme Ltd' }, { name: 'Acme Ltd' }],
    [{ retention_days: '30' }, { retention_days: 30 }],
    [{ max_concurrent: '9' }, { limits: { max_concurrent: 9 } }],
    [{ requests_per_minute: '' }, { limits: { requests_per_minute: null } }],
    [{ usd: '' }, { budget: null }],
    [{ period: 'day' }, { budget: { usd: '100.00', period: 'day' } }],
    [{ models: ' ' }, { allowed_models: null }],
    [{ models: 'gpt-4*\n claude-* \n' }, { allowed_models: ['gpt-4*', 'claude-*'] }],
  ])('are those that differ: %j', (change, body) => {
    expect(changesOf(before, { ...before, ...change })).toEqual(body);
  });
});
