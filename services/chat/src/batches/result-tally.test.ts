import { expect, it } from '@jest/globals';
import { Catalogue } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import type { ReservedFee } from '../catalogue/kept-price.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { openaiBatches } from './openai-batch.ts';
import { ResultTally } from './result-tally.ts';

function tallyOf(requests: number, fees: readonly ReservedFee[] = []): ResultTally {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
    models: [{ id: 'm', provider: 'local', price: { input_per_mtok: 2, output_per_mtok: 8 } }],
  });
  const [model] = catalogue.models.values();
  if (model === undefined) throw new Error('the catalogue has one model');
  const price = new Pricing(catalogue, null).priceOf(model, {
    ...{ at: new Date(), serviceTier: null, inBatch: true },
  });
  return new ResultTally({
    ...{ price, fees, requests, resultIn: openaiBatches.resultIn, tenantId: 't', format: dialects.chat },
    ...{ inputTokensGuess: 100, mostOutputTokens: 1_000 },
  });
}

function add(tally: ResultTally, line: object): Promise<void> {
  return tally.add({ number: 1, bytes: Buffer.from(JSON.stringify(line)) });
}

const answered = (id: string | undefined): object => {
  const message = { role: 'assistant', content: 'hi' };
  const body = {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
  return { custom_id: id, response: { status_code: 200, body }, error: null };
};

it('charges a result that is too long to be read as the longest, at the price of batches', () => {
  const tally = tallyOf(2);
  for (let n = 0; n < 3; n += 1) tally.addUnread();
  expect([tally.lines, tally.answers]).toEqual([2, 2]);
  expect(tally.usage).toMatchObject({ inputTokens: 200, outputTokens: 2_000, estimated: true });
  // A millionth of a USD for a token of a prompt, four for one of an answer.
  expect(tally.cost).toMatchObject({ priced: true, costPico: 200n * 1_000_000n + 2_000n * 4_000_000n });
});

it('counts each request once, and no more than the batch has', async () => {
  const tally = tallyOf(3);
  await add(tally, { custom_id: 'b', response: { status_code: 400, body: { error: {} } } });
  for (const id of ['a', 'a', 'b', undefined, 'c', 'd', 'e']) await add(tally, answered(id));
  expect([tally.lines, tally.answers]).toEqual([3, 2]);
  expect(tally.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  expect(tally.cost.costPico).toBe(20n * 1_000_000n + 10n * 4_000_000n);
  expect(tally.parts).toMatchObject({ input: 20n * 1_000_000n, output: 10n * 4_000_000n });
});

it.each([
  ['that no answer counts', 'never', [1_000n, 2_000n, 2_000n]],
  [
    'that answers count in their items, of those that are too long to be read',
    'in its items',
    [0n, 0n, 1_000n],
  ],
] as const)(
  'charges fees of tools %s, once for each request that offers them',
  async (_name, counted, picos) => {
    const tally = tallyOf(4, [{ counted, pico: 2_000n, requests: 2 }]);
    const fees = (): bigint => tally.chargePico - (tally.cost.costPico ?? 0n);
    const found: bigint[] = [];
    await add(tally, { custom_id: 'failed', response: { status_code: 400, body: { error: {} } } });
    expect(fees()).toBe(0n);
    for (const id of ['a', 'b']) {
      await add(tally, answered(id));
      found.push(fees());
    }
    tally.addUnread();
    expect([...found, fees()]).toEqual(picos);
  },
);
