import { describe, expect, it } from '@jest/globals';
import { Catalogue } from './catalogue.ts';
import { OperatorPrices } from './operator-prices.ts';
import { Pricing } from './pricing.ts';
import { noUsage } from '@gatehouse/dialects/usage/usage';

const read = (value: unknown) => OperatorPrices.parse({ file: 'prices.json', text: JSON.stringify(value) });
const price = { input_per_mtok: '1', output_per_mtok: '2' };

describe("an operator's list of prices", () => {
  it('has prices by provider and by its name of the model', () => {
    const list = read({ version: 'v1', prices: { acme: { 'a/b': price } } });
    expect(list.version).toBe('v1');
    expect(list.find('acme', 'a/b')).toEqual(price);
    for (const [provider, model] of [
      ['acme', 'a'],
      ['other', 'a/b'],
      ['acme', '__proto__'],
      ['__proto__', 'a/b'],
    ])
      expect(list.find(provider ?? '', model ?? '')).toBeUndefined();
  });

  it.each([
    [{ prices: {} }, 'prices.json: version'],
    [{ version: 'a b', prices: {} }, 'prices.json: version: must be 1 to 64'],
    [{ version: 'v', prices: { ACME: { a: price } } }, 'prices.json: prices.ACME'],
    [{ version: 'v', prices: { acme: { a: { input_per_mtok: 'x' } } } }, 'prices.acme.a.output_per_mtok'],
    [{ version: 'v', prices: {}, extra: 1 }, 'extra'],
  ])('is not %#', (value, problem) => {
    expect(() => read(value)).toThrow(problem);
  });

  it('that is no JSON is named, without its text', () => {
    expect(() => OperatorPrices.parse({ file: 'prices.json', text: '{"s3cr3t' })).toThrow(
      'prices.json is not valid JSON',
    );
  });

  it('stands over the public list, and under the price of an entry', async () => {
    const provider = { name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' };
    const catalogue = Catalogue.parse({
      providers: [provider],
      models: [
        { id: 'gpt-4o', provider: 'openai' },
        { id: 'own', provider: 'openai', upstream_model: 'gpt-4o', price },
        { id: 'gpt-*', provider: 'openai' },
      ],
    });
    const pricing = await Pricing.create(catalogue);
    const costOf = (id: string) => {
      const model = catalogue.find(id, null);
      if (model === undefined) throw new Error('no such model');
      const usage = { ...noUsage, inputTokens: 1_000_000 };
      return pricing.costOf(model, usage, { at: new Date('2026-06-01T12:00:00Z'), serviceTier: null });
    };
    const usd = 10n ** 12n;
    const bundled = { costPico: (usd * 5n) / 2n, source: 'genai-prices', version: 'genai-prices@0.1.8' };
    expect(costOf('gpt-4o')).toMatchObject(bundled);
    const prices = { openai: { 'gpt-4o': { ...price, input_per_mtok: '7' }, 'gpt-new': price } };
    pricing.chargeBy(read({ version: 'ours-2', prices }));
    expect(costOf('gpt-4o')).toMatchObject({ costPico: 7n * usd, source: 'catalogue', version: 'ours-2' });
    expect(costOf('gpt-new')).toMatchObject({ costPico: usd, source: 'catalogue', version: 'ours-2' });
    expect(costOf('own')).toMatchObject({
      ...{ costPico: usd, source: 'catalogue', version: expect.stringMatching(/^catalogue:[0-9a-f]{16}$/) },
    });
    pricing.chargeBy(null);
    expect(costOf('gpt-4o')).toMatchObject(bundled);
    expect(costOf('gpt-new')).toBeNull();
  });
});

describe('the setting of a list behind a URL', () => {
  const parse = (prices: object) =>
    Catalogue.parse({
      providers: [{ name: 'p', kind: 'openai', base_url: 'http://p.example/v1' }],
      models: [{ id: 'm', provider: 'p' }],
      prices,
    }).prices;

  it('says how often it is fetched, an hour by default', () => {
    const url = 'https://prices.example/list.json';
    expect(parse({ url })).toEqual({ url, every: 3_600_000 });
    expect(['15m', '24h', '90s'].map((every) => parse({ url, every })?.every)).toEqual([
      900_000, 86_400_000, 90_000,
    ]);
  });

  it.each([
    [{}, 'needs either a file or a url'],
    [{ file: 'a', url: 'https://a.example' }, 'needs either a file or a url'],
    [{ file: 'a', every: '1h' }, 'every is for a url'],
    [{ url: 'https://a.example', every: '25h' }, '24h at most'],
    [{ url: 'https://a.example', every: '1 day' }, 'such as 30m'],
    [{ url: 'https://user:s3cr3t@a.example' }, 'no user info'],
    [{ url: 'ftp://a.example' }, 'prices.url'],
  ])('of %j is a mistake', (prices, problem) => {
    expect(() => parse(prices)).toThrow(problem);
    expect(() => parse(prices)).not.toThrow('s3cr3t');
  });
});
