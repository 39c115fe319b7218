import { expect, it } from '@jest/globals';
import { Catalogue } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import { ResultTally } from './result-tally.ts';

it('charges a result that is too long to be read as the longest, at the price of batches', () => {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
    models: [{ id: 'm', provider: 'local', price: { input_per_mtok: 2, output_per_mtok: 8 } }],
  });
  const [model] = catalogue.models.values();
  if (model === undefined) throw new Error('the catalogue has one model');
  const call = { at: new Date(), serviceTier: null, inBatch: true };
  const price = new Pricing(catalogue, null).priceOf(model, call);
  const tally = new ResultTally({
    ...{ price, tenantId: 't' },
    ...{ inputTokensGuess: 100, mostOutputTokens: 1_000 },
    answerIn: () => Promise.resolve(null),
    format: { readWhole: () => Promise.reject(new Error('nothing is read')) },
  });
  tally.addUnread();
  tally.addUnread();
  expect(tally.answers).toBe(2);
  expect(tally.usage).toMatchObject({ inputTokens: 200, outputTokens: 2_000, estimated: true });
  // A millionth of a USD for a token of a prompt, four for one of an answer.
  expect(tally.cost).toMatchObject({ priced: true, costPico: 200n * 1_000_000n + 2_000n * 4_000_000n });
});
