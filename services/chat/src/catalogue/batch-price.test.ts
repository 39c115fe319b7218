import { expect, it } from '@jest/globals';
import { Catalogue } from './catalogue.ts';
import { Pricing } from './pricing.ts';
import { noUsage } from '@gatehouse/dialects/usage/usage';

const catalogue = Catalogue.parse({
  providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [
    {
      ...{ id: 'steps', provider: 'local' },
      price: {
        ...{ input_per_mtok: 2, output_per_mtok: 8, per_call_usd: '0.01' },
        above: [{ input_tokens: 2_000, input_per_mtok: 4, output_per_mtok: 12, per_call_usd: '0.01' }],
      },
    },
  ],
});

it('is at most that of all calls together, in the steps that the longest reaches, with a fee for each', () => {
  const [steps] = catalogue.models.values();
  if (steps === undefined) throw new Error('there is a model');
  const mostOf = (longest: number) =>
    new Pricing(catalogue, null).mostCost(
      steps,
      {
        ...{ input: 1_000_000, output: 1_000_000, classes: [], serviceTier: null },
        calls: { count: 1_000, input: longest },
      },
      new Date(),
    );
  const usd = 10n ** 12n;
  // Half of 2 and 8 USD, of 4 and 12 in the step, and a thousand fees; each call is rounded up.
  expect(mostOf(2_000)).toBe(15n * usd + 1_000n);
  expect(mostOf(2_001)).toBe(18n * usd + 1_000n);
});

it('is half of the standard one, in each step, but for the fee of each call', () => {
  const costOf = (inputTokens: number) =>
    new Pricing(catalogue, null).costOfRecorded(
      { provider: 'local', model: 'steps', upstreamModel: 'steps' },
      { ...noUsage, inputTokens },
      { at: new Date(), serviceTier: null, inBatch: true },
    )?.costPico;
  // A millionth of a USD for a token, two in the step, and a hundredth of a USD.
  expect(costOf(1_000)).toBe(1_000n * 1_000_000n + 10n ** 10n);
  expect(costOf(3_000)).toBe(3_000n * 2_000_000n + 10n ** 10n);
});

it('is not that of a request outside of batches, whatever tier it names', () => {
  const [steps] = catalogue.models.values();
  if (steps === undefined) throw new Error('there is a model');
  const pricing = new Pricing(catalogue, null);
  const at = new Date();
  const most = { input: 1_000, output: 1_000, classes: [], serviceTier: 'batch' };
  expect(pricing.mostCost(steps, most, at)).toBe(
    pricing.mostCost(steps, { ...most, serviceTier: 'auto' }, at),
  );
  expect(pricing.costOf(steps, { ...noUsage, inputTokens: 1_000 }, { at, serviceTier: 'batch' })).toBeNull();
});
