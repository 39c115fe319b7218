import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { costAt, mostCostAt, parseRate, sumCosts, type Cost, type Rates } from './price.ts';
import { noUsage } from './usage.ts';

const oneUsd = 10n ** 12n;

describe('a price per million tokens', () => {
  it.each<[string, bigint]>([
    ['0', 0n],
    ['2.5', 2_500_000_000_000_000_000n],
    ['1e-7', 100_000_000_000n],
    ['1.5e+2', 150n * 10n ** 18n],
    // Half to even.
    ['0.0000000000000000005', 0n],
    ['0.0000000000000000015', 2n],
    ['0.0000000000000000025', 2n],
  ])('%s is read exactly', (text, rate) => {
    expect(parseRate(text)).toBe(rate);
  });

  it.each(['', '-1', '1.', '.5', 'NaN', '1e9999', '0x1', '1,5'])('%j is none', (text) => {
    expect(() => parseRate(text)).toThrow(RangeError);
  });

  it('keeps every number that JavaScript writes, to 18 decimals', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (value) => {
        expect(Math.abs(Number(parseRate(String(value))) / 1e18 - value)).toBeLessThanOrEqual(
          value * 1e-12 + 1e-18,
        );
      }),
    );
  });
});

describe('the cost of a call', () => {
  const rates: Rates = {
    input: parseRate('2'),
    cachedInput: parseRate('0.5'),
    cacheWrite: parseRate('2.5'),
    output: parseRate('8'),
    reasoning: parseRate('10'),
    call: 0n,
  };

  it('takes each part at its own price', () => {
    const usage = {
      ...noUsage,
      inputTokens: 1_000_000,
      cachedInputTokens: 400_000,
      cacheWriteTokens: 100_000,
      outputTokens: 1_000_000,
      reasoningTokens: 500_000,
    };
    // 0.5 M at 2, 0.4 M at 0.5, 0.1 M at 2.5, 0.5 M at 8, 0.5 M at 10.
    expect(costAt(rates, usage)).toBe((oneUsd * 1045n) / 100n);
  });

  it('has the price of the call itself', () => {
    expect(costAt({ ...rates, call: parseRate('10000') }, { ...noUsage, inputTokens: 1 })).toBe(
      oneUsd / 100n + 2_000_000n,
    );
  });

  it('is unknown where a part with tokens has no price, and only there', () => {
    const embedding = { ...rates, output: undefined, reasoning: undefined };
    expect(costAt(embedding, { ...noUsage, inputTokens: 5 })).toBe(10_000_000n);
    expect(costAt(embedding, { ...noUsage, inputTokens: 5, outputTokens: 1 })).toBeNull();
  });

  it('is never more than the most that such a call can cost', () => {
    const tokens = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(
        fc.array(tokens, { minLength: 5, maxLength: 5 }),
        ([cached = 0, written = 0, rest = 0, said = 0, thought = 0]) => {
          const usage = {
            ...noUsage,
            inputTokens: cached + written + rest,
            cachedInputTokens: cached,
            cacheWriteTokens: written,
            outputTokens: said + thought,
            reasoningTokens: thought,
          };
          const most = mostCostAt(rates, { input: usage.inputTokens, output: usage.outputTokens });
          expect(costAt(rates, usage)).toBeLessThanOrEqual(most ?? -1n);
        },
      ),
    );
    expect(
      mostCostAt({ ...rates, output: undefined, reasoning: undefined }, { input: 1, output: 1 }),
    ).toBeNull();
  });

  it('stays within what the database holds', () => {
    const dear = { ...rates, input: parseRate('999999999') };
    expect(costAt(dear, { ...noUsage, inputTokens: 1e12 })).toBe(2n ** 63n - 1n);
  });
});

describe('the cost of a run', () => {
  const cost = (costPico: bigint, source: Cost['source'] = 'catalogue'): Cost => ({ costPico, source });

  it.each<[string, (Cost | null)[], ReturnType<typeof sumCosts>]>([
    ['without calls is nothing, known', [], { costPico: 0n, priced: true, source: null }],
    [
      'is the sum of all',
      [cost(2n), cost(3n, 'genai-prices')],
      { costPico: 5n, priced: true, source: 'genai-prices' },
    ],
    ['of calls without tokens is nothing', [cost(0n, null)], { costPico: 0n, priced: true, source: null }],
    ['is unknown without any price', [null, cost(0n, null)], { costPico: null, priced: false, source: null }],
    ['is that of the priced ones', [cost(2n), null], { costPico: 2n, priced: false, source: 'catalogue' }],
  ])('%s', (_name, costs, sum) => {
    expect(sumCosts(costs)).toEqual(sum);
  });
});
