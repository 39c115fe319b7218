import { expect, it } from '@jest/globals';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { Catalogue, type Model } from './catalogue.ts';
import { Pricing } from './pricing.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' }],
  models: [
    { id: 'own', provider: 'openai', price: { input_per_mtok: 1, output_per_mtok: '2' } },
    { id: 'new', provider: 'openai', upstream_model: 'no-such-model' },
  ],
});
const million = { ...noUsage, inputTokens: 1_000_000 };
const oneUsd = 10n ** 12n;
const at = new Date('2026-06-01T12:00:00Z');

it('a moderation without a price costs nothing, and nothing else does', async () => {
  const pricing = await Pricing.create(catalogue);
  const [unpriced, priced] = [catalogue.models.get('new'), catalogue.models.get('own')] as [Model, Model];
  const call = { at, serviceTier: null };
  const most = { input: 1_000_000, output: 0, classes: [], serviceTier: null };
  for (const operation of ['chat', 'embeddings', undefined] as const) {
    expect(pricing.costOf(unpriced, million, { ...call, operation })).toBeNull();
    expect(pricing.mostCost(unpriced, { ...most, operation }, at)).toBeNull();
  }
  const operation = 'moderations';
  expect(pricing.costOf(unpriced, million, { ...call, operation })).toMatchObject({
    costPico: 0n,
    source: null,
  });
  expect(pricing.mostCost(unpriced, { ...most, operation }, at)).toBe(0n);
  expect(pricing.costOf(priced, million, { ...call, operation })?.costPico).toBe(oneUsd);
  expect(pricing.mostCost(priced, { ...most, operation }, at)).toBe(oneUsd + 1n);
});
