import { expect, it } from '@jest/globals';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { Catalogue } from './catalogue.ts';
import { parsePrice, priceText } from './kept-price.ts';
import { costBy } from './price.ts';
import { Pricing } from './pricing.ts';

const amounts = { input_per_mtok: '0.000001', output_per_mtok: '8', per_call_usd: '0.01' };
const price = {
  ...amounts,
  per_tool_call: { web_search: '0.01' },
  above: [{ ...amounts, input_tokens: 1_000, input_per_mtok: '4' }],
};

it('is the same price again, to the last digit, with its steps, its version and its tools', () => {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
    models: [{ id: 'm', provider: 'local', price }],
  });
  const [model] = catalogue.models.values();
  if (model === undefined) throw new Error('the catalogue has one model');
  const call = { at: new Date(), serviceTier: null, inBatch: true };
  const stated = new Pricing(catalogue, null).priceOf(model, call);
  if (stated === null) throw new Error('the model has a price');
  const read = parsePrice(priceText(stated));
  const toolCalls = { web_search: 3 };
  for (const usage of [
    { ...noUsage, inputTokens: 999_999, outputTokens: 7 },
    { ...noUsage, inputTokens: 10, outputTokens: 1, toolCalls },
  ])
    expect(costBy(read, usage)).toEqual(costBy(stated, usage));
  expect(costBy(read, { ...noUsage, inputTokens: 10, toolCalls })).toMatchObject({
    version: stated.version,
    source: 'catalogue',
  });
});
