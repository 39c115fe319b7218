import { describe, expect, it } from '@jest/globals';
import type { LimitState } from '@gatehouse/contract/limits';
import { nextBudget, policyOfLimit } from './limits.ts';

const limitOf = (fields: Partial<LimitState>): LimitState => ({
  ...{ resource: 'budget', window: 'month', limit: '50', used: '0', reserved: '0', remaining: '50' },
  ...{ resets_at: null, policy: null, value: null },
  ...fields,
});

describe('the budget that stops requests first', () => {
  it('is the one with the least left, whatever its place in the list', () => {
    const limits = [
      limitOf({ resource: 'requests', window: 'minute', limit: 1, remaining: 1 }),
      limitOf({ window: 'day', remaining: '9.500000000000' }),
      limitOf({ window: 'week', remaining: '0.100000000000', policy: 'people', value: 'ada' }),
      limitOf({ window: 'month', remaining: '10.000000000000' }),
    ];
    expect(nextBudget(limits)?.window).toBe('week');
    expect(nextBudget(limits.slice(0, 1))).toBeUndefined();
  });

  it('is named by its policy and value', () => {
    expect(policyOfLimit(limitOf({ policy: 'people', value: 'ada' }))).toBe('people: ada');
    expect(policyOfLimit(limitOf({ policy: 'all' }))).toBe('all');
    expect(policyOfLimit(limitOf({}))).toBe('');
  });
});
