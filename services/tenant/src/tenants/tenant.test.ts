import { describe, expect, it } from '@jest/globals';
import { patchSettings, type TenantSettings } from './tenant.ts';

const current: TenantSettings = {
  slug: 'acme',
  name: 'Acme',
  status: 'active',
  limits: { requests_per_minute: 60, max_concurrent: 5 },
  budget: { usd: '5', period: 'day' },
  allowedModels: ['gpt-4o'],
  timezone: 'UTC',
  retentionDays: 90,
  previews: { enabled: true, max_chars: 500 },
};

describe('patching the settings of a tenant', () => {
  it('changes nothing that is not mentioned', () => {
    expect(patchSettings(current, {})).toEqual(current);
    expect(patchSettings(current, { limits: {}, previews: {} })).toEqual(current);
  });

  it('merges limits and previews member by member', () => {
    const patched = patchSettings(current, {
      limits: { requests_per_minute: null, tokens_per_minute: 7 },
      previews: { enabled: false },
    });
    expect(patched.limits).toEqual({ max_concurrent: 5, tokens_per_minute: 7 });
    expect(patched.previews).toEqual({ enabled: false, max_chars: 500 });
  });

  it('distinguishes null, which clears, from absent', () => {
    expect(patchSettings(current, { budget: null, allowed_models: null })).toEqual({
      ...current,
      budget: null,
      allowedModels: null,
    });
  });

  it('leaves what it was given as it was', () => {
    const before = structuredClone(current);
    patchSettings(current, { limits: { max_concurrent: null }, name: 'Other' });
    expect(current).toEqual(before);
  });
});
