import { describe, expect, it } from '@jest/globals';
import type { PolicyOverride } from '@gatehouse/contract/policies';
import { newOverride, overrideBody, overrideDraft, overrideTexts } from './override-draft.ts';

describe('the fields of an exception', () => {
  const override: PolicyOverride = {
    ...{
      budget_usd: null,
      limits: { tokens_per_minute: 5, max_concurrent: null },
      until: '2026-03-01T00:00:00.000Z',
      note: null,
    },
  };

  it('are those of the override again', () => {
    expect(overrideBody(overrideDraft('ada', override))).toEqual(override);
    expect(overrideTexts(override)).toEqual(['5 tokens/min', 'Concurrency: no limit', 'no budget']);
  });

  it('that are empty follow the policy, and none is no limit', () => {
    expect(overrideBody(newOverride)).toEqual({ until: null, note: null });
    const { limits: unlimited } = overrideBody(overrideDraft('ada', { ...override, limits: null }));
    expect(unlimited).toEqual({ requests_per_minute: null, tokens_per_minute: null, max_concurrent: null });
    expect(overrideBody({ ...newOverride, budget_usd: '12.50' })).toMatchObject({ budget_usd: '12.50' });
  });

  it('name an amount that is none', () => {
    const wrong = () => overrideBody({ ...newOverride, requests_per_minute: 'ten' });
    expect(wrong).toThrow(expect.objectContaining({ param: 'limits.requests_per_minute' }));
  });
});
