import { describe, expect, it } from '@jest/globals';
import { amountsOf, type PolicyAmounts } from './policy-amounts.ts';

function policy(fields: Partial<PolicyAmounts> = {}): PolicyAmounts {
  return {
    limits: { requests_per_minute: 10 },
    budget: { usd: '1', period: 'day' },
    valueOverride: null,
    groupOverrides: [],
    ...fields,
  };
}

describe('the amounts of a counter', () => {
  it.each([
    ['are those of the policy', policy(), 10n, 10n ** 12n],
    ['follow an override of its value', policy({ valueOverride: { budget_usd: '2' } }), 10n, 2n * 10n ** 12n],
    [
      'follow it before those of groups',
      policy({
        valueOverride: { budget_usd: '2' },
        groupOverrides: [{ budget_usd: '5', limits: { requests_per_minute: 7 } }],
      }),
      7n,
      2n * 10n ** 12n,
    ],
    [
      'follow the largest of groups',
      policy({ groupOverrides: [{ budget_usd: '3' }, { budget_usd: '4' }, {}] }),
      10n,
      4n * 10n ** 12n,
    ],
    [
      'have no limit where one group has none',
      policy({ groupOverrides: [{ budget_usd: null }, { budget_usd: '4' }] }),
      10n,
      null,
    ],
    [
      'have no limit by an override without one',
      policy({ valueOverride: { limits: { requests_per_minute: null } } }),
      null,
      10n ** 12n,
    ],
    ['may forbid', policy({ valueOverride: { limits: { requests_per_minute: 0 } } }), 0n, 10n ** 12n],
  ])('%s', (_name, amounts, requests, budget) => {
    expect(amountsOf(amounts)).toEqual({ requests, tokens: null, concurrency: null, budget });
  });
});
