import { describe, expect, it } from '@jest/globals';
import type { PatchTenant } from '@gatehouse/contract/tenants';
import { contentOf, patchSettings, type TenantSettings } from './tenant.ts';

const current: TenantSettings = {
  slug: 'acme',
  name: 'Acme',
  status: 'active',
  limits: { requests_per_minute: 60, max_concurrent: 5 },
  memoryLimits: { documents: 10, bytes: 1_000 },
  budget: { usd: '5', period: 'day' },
  allowedModels: ['gpt-4o'],
  timezone: 'UTC',
  retentionDays: 90,
  previews: { enabled: true, max_chars: 500 },
  contentFull: false,
  userKeys: { enabled: true, max: 5, max_days: 90 },
  actingUsers: 'any',
  scimUserId: 'externalId',
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

  it('merges limits of memory member by member, and sets all to their defaults by null', () => {
    const memoryOf = (limits: PatchTenant['limits']) => patchSettings(current, { limits }).memoryLimits;
    expect(memoryOf({ memory: { bytes: null, entities: 0 } })).toEqual({ documents: 10, entities: 0 });
    expect(memoryOf({ memory: {} })).toEqual(current.memoryLimits);
    expect(memoryOf({ memory: null })).toEqual({});
    expect(patchSettings(current, { limits: { memory: null } }).limits).toEqual(current.limits);
  });

  it('distinguishes null, which clears, from absent', () => {
    expect(patchSettings(current, { budget: null, allowed_models: null })).toEqual({
      ...current,
      budget: null,
      allowedModels: null,
    });
  });

  it('stores content with previews alone, whichever of the two is sent', () => {
    const texts = (patch: PatchTenant, before = current) => {
      const patched = patchSettings(before, patch);
      return { content: contentOf(patched), enabled: patched.previews.enabled };
    };
    const full = patchSettings(current, { content: 'full' });
    expect(texts({}, full)).toEqual({ content: 'full', enabled: true });
    expect(texts({ previews: { max_chars: 7 } }, full)).toEqual({ content: 'full', enabled: true });
    expect(texts({ content: 'off' }, full)).toEqual({ content: 'off', enabled: false });
    expect(texts({ previews: { enabled: false } }, full)).toEqual({ content: 'off', enabled: false });
    const off = patchSettings(full, { previews: { enabled: false } });
    expect(texts({ previews: { enabled: true } }, off)).toEqual({ content: 'previews', enabled: true });
    expect(texts({ content: 'full' }, off)).toEqual({ content: 'full', enabled: true });
    expect(texts({ content: 'previews', previews: { enabled: true } }, off).content).toBe('previews');
  });

  it.each([
    { content: 'off', previews: { enabled: true } },
    { content: 'previews', previews: { enabled: false } },
    { content: 'full', previews: { enabled: false } },
  ] as const)('refuses %j, which contradicts itself', (patch) => {
    expect(() => patchSettings(current, patch)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'content' }),
    );
  });

  it('leaves what it was given as it was', () => {
    const before = structuredClone(current);
    patchSettings(current, { limits: { max_concurrent: null }, name: 'Other' });
    expect(current).toEqual(before);
  });
});
