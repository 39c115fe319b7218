import { describe, expect, it } from '@jest/globals';
import { Catalogue } from './catalogue.ts';
import { Pricing } from './pricing.ts';
import { noUsage, type Usage } from './usage.ts';

const openai = { name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' } as const;
const local = { name: 'local', kind: 'openai', base_url: 'http://127.0.0.1:9/v1' } as const;
const catalogue = Catalogue.parse({
  providers: [openai, local],
  models: [
    {
      id: 'own',
      provider: 'openai',
      upstream_model: 'gpt-4o',
      price: { input_per_mtok: 1, output_per_mtok: '2' },
    },
    { id: 'public', provider: 'openai', upstream_model: 'gpt-4o' },
    { id: 'embedding', provider: 'openai', upstream_model: 'text-embedding-3-small' },
    { id: 'private', provider: 'local', upstream_model: 'gpt-4o' },
    { id: 'new', provider: 'openai', upstream_model: 'no-such-model' },
  ],
});
const million: Usage = { ...noUsage, inputTokens: 1_000_000 };
const answered: Usage = { ...million, outputTokens: 1_000_000 };
const at = new Date('2026-06-01T12:00:00Z');
const oneUsd = 10n ** 12n;

describe('the price of a call', () => {
  const costOf = async (model: string, usage: Usage, provider = 'openai', upstreamModel = 'gpt-4o') =>
    (await Pricing.create(catalogue)).costOf({ provider, model, upstreamModel }, usage, at);

  it('is that of the catalogue, before any other; cached input costs what input does where it has no price', async () => {
    const cached = {
      ...answered,
      cachedInputTokens: 300_000,
      cacheWriteTokens: 200_000,
      reasoningTokens: 100,
    };
    expect(await costOf('own', cached)).toEqual({ costPico: 3n * oneUsd, source: 'catalogue' });
  });

  it("is the provider's public one where the catalogue has none", async () => {
    expect(await costOf('public', answered)).toEqual({
      costPico: (oneUsd * 125n) / 10n,
      source: 'genai-prices',
    });
    const cached = { ...million, cachedInputTokens: 1_000_000 };
    expect(await costOf('public', cached)).toEqual({
      costPico: (oneUsd * 125n) / 100n,
      source: 'genai-prices',
    });
    expect(await costOf('embedding', million, 'openai', 'text-embedding-3-small')).toEqual({
      costPico: (oneUsd * 2n) / 100n,
      source: 'genai-prices',
    });
  });

  it.each([
    ['of a server of your own', 'private', 'local', 'gpt-4o'],
    ['of a model that nobody knows', 'new', 'openai', 'no-such-model'],
    ['of a model that left the catalogue', 'gone', 'openai', 'gpt-4o'],
    ['of a model that means another one here', 'own', 'openai', 'gpt-4o-mini'],
  ])('%s is unknown', async (_name, model, provider, upstream) => {
    expect(await costOf(model, million, provider, upstream)).toBeNull();
    expect(await costOf(model, noUsage, provider, upstream)).toEqual({ costPico: 0n, source: null });
  });
});
