import { describe, expect, it } from '@jest/globals';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import fc from 'fast-check';
import { Catalogue } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import type { MostTokens } from './upper-bounds.ts';
import { RequestAmounts } from './request-amounts.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'p', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [
    { id: 'cheap', provider: 'p', price: { input_per_mtok: '1', output_per_mtok: '2' } },
    {
      id: 'expensive',
      provider: 'p',
      price: { input_per_mtok: '3', output_per_mtok: '15', per_call_usd: '0.001' },
    },
  ],
});
const pricing = new Pricing(catalogue, null);
const calls = fc.record({
  input: fc.integer({ min: 0, max: 100_000 }),
  each: fc.integer({ min: 4_097, max: 128_000 }),
  choices: fc.integer({ min: 1, max: 5 }),
});

function amountsOf({
  input,
  each,
  choices,
  samplings = 1,
}: {
  input: number;
  each: number;
  choices: number;
  samplings?: number;
}): RequestAmounts {
  const most = { input, output: choices * each, samplings, choices, classes: [], serviceTier: null };
  return new RequestAmounts(
    [...catalogue.models.values()].map((model): MostTokens => ({ model, ...most })),
    pricing,
  );
}

describe('the tokens of an answer that an amount of money is enough for', () => {
  it('cost no more than that, and one more would', () => {
    fc.assert(
      fc.property(calls, fc.bigInt({ min: 0n, max: 12n * 10n ** 12n }), (call, pico) => {
        const amounts = amountsOf(call);
        const tokens = amounts.tokensFor(pico, 4_096);
        const costOf = (count: number): bigint => amounts.limited(count).amountOf(Resource.BUDGET);
        if (tokens === null) expect(costOf(4_096)).toBeGreaterThan(pico);
        else {
          expect(costOf(tokens)).toBeLessThanOrEqual(pico);
          expect(tokens).toBeGreaterThanOrEqual(4_096);
          expect(tokens).toBeLessThanOrEqual(call.each);
          if (tokens < call.each) expect(costOf(tokens + 1)).toBeGreaterThan(pico);
        }
      }),
    );
  });

  it('are counted for each of several answers', () => {
    const amounts = amountsOf({ input: 100, each: 10_000, choices: 3 });
    expect(amounts.tokensEach).toBe(10_000);
    expect(amounts.limited(5_000).amountOf(Resource.TOKENS)).toBe(15_100n);
    expect(amounts.limited(20_000).amountOf(Resource.TOKENS)).toBe(30_100n);
  });

  it('grow with a longer prompt, once for each of its samplings', () => {
    const call = { input: 100, each: 10_000, choices: 2 };
    expect(amountsOf(call).grown(50).amountOf(Resource.TOKENS)).toBe(20_150n);
    expect(
      amountsOf({ ...call, samplings: 2 })
        .grown(50)
        .amountOf(Resource.TOKENS),
    ).toBe(20_200n);
  });
});
