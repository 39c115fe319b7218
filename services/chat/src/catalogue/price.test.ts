import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addParts,
  completeRates,
  costBy,
  mostCostAt,
  noParts,
  parseRate,
  partsAt,
  priceList,
  sumCosts,
  sumOfParts,
  wholeFactor,
  type Cost,
  type CostPart,
  type PriceList,
  type StatedRates,
} from './price.ts';
import {
  inputClasses,
  noUsage,
  outputClasses,
  partsOf,
  tokenClasses,
  type Usage,
  type UsageParts,
} from '@gatehouse/dialects/usage/usage';

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

/** A usage of so many tokens of each class. */
function usageOf(parts: Partial<UsageParts>): Usage {
  const all = { ...partsOf(noUsage), ...parts };
  const sum = (names: readonly (keyof UsageParts)[]) => names.reduce((total, name) => total + all[name], 0);
  return { ...noUsage, inputTokens: sum(inputClasses), outputTokens: sum(outputClasses), parts: all };
}

const flat = (stated: StatedRates): PriceList => priceList([], () => completeRates(stated));

function costAt(list: PriceList, usage: Usage): bigint | null {
  const parts = partsAt(list, usage);
  return parts === null ? null : sumOfParts(parts);
}

describe('the cost of a call', () => {
  const stated: StatedRates = {
    input: parseRate('2'),
    cachedInput: parseRate('0.5'),
    cacheWrite: parseRate('2.5'),
    cacheWrite1h: parseRate('4'),
    inputAudio: parseRate('40'),
    cachedInputAudio: parseRate('2.25'),
    inputImage: parseRate('5'),
    cachedInputImage: parseRate('0.75'),
    output: parseRate('8'),
    reasoning: parseRate('10'),
    outputAudio: parseRate('80'),
    outputImage: parseRate('30'),
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
    expect(costAt(flat(stated), usage)).toBe((oneUsd * 1045n) / 100n);
  });

  it.each<[keyof UsageParts, string]>([
    ['cacheWrite1h', '4'],
    ['inputAudio', '40'],
    ['cachedInputAudio', '2.25'],
    ['inputImage', '5'],
    ['cachedInputImage', '0.75'],
    ['outputAudio', '80'],
    ['outputImage', '30'],
  ])('has a price of its own for %s', (name, usd) => {
    expect(costAt(flat(stated), usageOf({ [name]: 1_000_000 }))).toBe(parseRate(usd) / 1_000_000n);
  });

  const few: StatedRates = { input: parseRate('2'), output: parseRate('8') };

  it.each<[keyof UsageParts, bigint | null, StatedRates]>([
    ['cachedInput', 2n, few],
    ['reasoning', 8n, few],
    ['inputImage', 2n, few],
    ['cachedInputImage', 2n, few],
    ['inputVideo', 2n, few],
    ['cachedInputVideo', 2n, few],
    ['cachedInputImage', 1n, { ...few, cachedInput: parseRate('1') }],
    ['cachedInputImage', 5n, { ...few, cachedInput: parseRate('1'), inputImage: parseRate('5') }],
    ['cachedInputAudio', 9n, { ...few, cachedInput: parseRate('1'), inputAudio: parseRate('9') }],
    ['cacheWrite', null, few],
    ['cacheWrite1h', null, few],
    ['cacheWrite1h', null, { ...few, cacheWrite: parseRate('2.5') }],
    ['inputAudio', null, few],
    ['cachedInputAudio', null, { ...few, cachedInput: parseRate('1') }],
    ['outputAudio', null, few],
    ['outputImage', null, few],
    ['outputVideo', null, few],
  ])('of %s without a price is that of its parent or unknown: %s', (name, usd, list) => {
    expect(costAt(flat(list), usageOf({ [name]: 1_000_000 }))).toBe(usd === null ? null : usd * oneUsd);
  });

  it('depends as a whole on how much is read, by the last step that is passed', () => {
    const list = priceList([500, 200], (inputTokens) =>
      completeRates({
        input: parseRate(inputTokens > 500 ? '3' : inputTokens > 200 ? '4' : '2'),
        output: 0n,
      }),
    );
    const cost = (inputTokens: number) => costAt(list, { ...noUsage, inputTokens });
    expect([200, 201, 500, 501].map(cost)).toEqual([
      400_000_000n,
      804_000_000n,
      2_000_000_000n,
      1_503_000_000n,
    ]);
    // A call that stops at the step in between may cost more than one that goes on.
    expect(mostCostAt(list, { input: 501, output: 0, classes: [] })).toBeGreaterThan(2_000_000_000n);
  });

  it('has the price of the call itself', () => {
    expect(costAt(flat({ ...stated, call: parseRate('10000') }), { ...noUsage, inputTokens: 1 })).toBe(
      oneUsd / 100n + 2_000_000n,
    );
  });

  it('is unknown where a part with tokens has no price, and only there', () => {
    const embedding = flat({ input: parseRate('2') });
    expect(costAt(embedding, { ...noUsage, inputTokens: 5 })).toBe(10_000_000n);
    expect(costAt(embedding, { ...noUsage, inputTokens: 5, outputTokens: 1 })).toBeNull();
    expect(mostCostAt(embedding, { input: 1, output: 0, classes: [] })).not.toBeNull();
    expect(mostCostAt(embedding, { input: 1, output: 1, classes: [] })).not.toBeNull();
  });

  it('is at most that of the highest known rate where the request asks for a class without a price', () => {
    const most = (classes: readonly 'inputAudio'[]) =>
      mostCostAt(flat(few), { input: 1, output: 0, classes });
    expect(most(['inputAudio'])).toBeGreaterThan(most([]) ?? 0n);
    expect(mostCostAt(flat(stated), { input: 1, output: 1, classes: ['outputAudio'] })).not.toBeNull();
  });

  it('stays within what the database holds', () => {
    const expensive = flat({ ...stated, input: parseRate('999999999') });
    expect(costAt(expensive, { ...noUsage, inputTokens: 1e12 })).toBe(2n ** 63n - 1n);
  });
});

describe('the parts of a cost', () => {
  const usd = parseRate('1');
  const stated = Object.fromEntries(tokenClasses.map((name) => [name, usd])) as StatedRates;

  it.each<[CostPart, readonly (keyof UsageParts)[]]>([
    ['input', ['input', 'inputAudio', 'inputImage', 'inputVideo']],
    ['cached_input', ['cachedInput', 'cachedInputAudio', 'cachedInputImage', 'cachedInputVideo']],
    ['cache_write', ['cacheWrite', 'cacheWrite1h']],
    ['output', ['output', 'reasoning', 'outputAudio', 'outputImage', 'outputVideo']],
  ])('have %s for %j', (part, names) => {
    for (const name of names)
      expect(partsAt(flat(stated), usageOf({ [name]: 1_000_000 }))).toEqual({ ...noParts, [part]: oneUsd });
  });

  it('have fees for the call itself and for calls of tools', () => {
    const price = {
      ...{ source: 'catalogue' as const, version: 'v1', regions: {} },
      ...{ list: flat({ ...stated, call: usd }), tools: { web_search: 7n } },
    };
    const usage = { ...noUsage, inputTokens: 2, toolCalls: { web_search: 3 } };
    const fees = 1_000_000n + 21n;
    expect(costBy(price, usage)).toMatchObject({
      ...{ costPico: 2_000_000n + fees, parts: { ...noParts, input: 2_000_000n, fees } },
    });
  });

  const rate = fc.bigInt({ min: 0n, max: 10n ** 27n });
  const rates: fc.Arbitrary<StatedRates> = fc.record({
    ...Object.fromEntries(tokenClasses.map((name) => [name, rate])),
    call: rate,
  });
  const tokens = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2_000_000 }), fc.constant(1e12));
  const usages = fc.record(Object.fromEntries(tokenClasses.map((name) => [name, tokens]))).map(usageOf);
  const factor = fc.constantFrom(wholeFactor, (wholeFactor * 11n) / 10n, wholeFactor / 3n);

  it('are never negative, and their sum is the cost, which is rounded once', () => {
    fc.assert(
      fc.property(
        rates,
        usages,
        factor,
        fc.bigInt({ min: 0n, max: 10n ** 19n }),
        (stated, usage, by, tool) => {
          const price = {
            ...{ source: 'catalogue' as const, version: 'v1', list: flat(stated) },
            ...{ tools: { web_search: tool }, regions: { eu: by } },
          };
          const cost = costBy(price, { ...usage, toolCalls: { web_search: 1 }, region: 'eu' });
          const amounts = tokenClasses.map((name) => BigInt(partsOf(usage)[name]) * (stated[name] ?? 0n));
          const exact =
            amounts.reduce((sum, amount) => sum + amount, 0n) * by + (stated.call ?? 0n) * wholeFactor;
          const unit = 10n ** 12n * wholeFactor;
          const whole = exact / unit;
          const twice = (exact % unit) * 2n;
          const up = twice > unit || (twice === unit && whole % 2n === 1n);
          const expected = whole + (up ? 1n : 0n) + tool;
          const most = 2n ** 63n - 1n;
          expect(cost?.costPico).toBe(expected > most ? most : expected);
          const parts = cost?.parts ?? noParts;
          expect(sumOfParts(parts)).toBe(cost?.costPico);
          expect(Object.values(parts).every((part) => part >= 0n)).toBe(true);
        },
      ),
    );
  });

  it('add up to the sum of the costs, as far as the database holds it', () => {
    const part = fc.bigInt({ min: 0n, max: 2n ** 62n });
    const parts = fc.record({ input: part, cached_input: part, cache_write: part, output: part, fees: part });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const [sum, most] = [sumOfParts(one) + sumOfParts(other), 2n ** 63n - 1n];
        expect(sumOfParts(addParts(one, other))).toBe(sum > most ? most : sum);
      }),
    );
  });
});

describe('the cost of a run', () => {
  const cost = (costPico: bigint, source: Cost['source'] = 'catalogue'): Cost => ({
    ...{ costPico, source, version: source === null ? null : 'v1' },
  });

  it.each<[string, (Cost | null)[], ReturnType<typeof sumCosts>]>([
    ['without calls is nothing, known', [], { costPico: 0n, priced: true, source: null, version: null }],
    [
      'is the sum of all',
      [cost(2n), cost(3n, 'genai-prices')],
      { costPico: 5n, priced: true, source: 'genai-prices', version: 'v1' },
    ],
    [
      'of calls without tokens is nothing',
      [cost(0n, null)],
      { costPico: 0n, priced: true, source: null, version: null },
    ],
    [
      'is unknown without any price',
      [null, cost(0n, null)],
      { costPico: null, priced: false, source: null, version: null },
    ],
    [
      'is that of the priced ones',
      [cost(2n), null],
      { costPico: 2n, priced: false, source: 'catalogue', version: 'v1' },
    ],
  ])('%s', (_name, costs, sum) => {
    expect(sumCosts(costs)).toEqual(sum);
  });
});
