import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { batchPace, begun, charged, ended, linesOf, refusal, runOf, sdkFor } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { countingPolicy } from './counting-policy.ts';
import { testCatalogue } from './test-catalogue.ts';

/** Batches are charged by the prices of their start, whatever becomes of the model. */

interface Document {
  models: { id: string }[];
}

const fleeting = (input: string, output: string) => ({
  ...{ id: 'fleeting', provider: 'simulator' },
  price: { input_per_mtok: input, output_per_mtok: output },
});

let harness: ChatHarness;
let first: Document;
beforeAll(async () => {
  const { models } = await testCatalogue('http://127.0.0.1/v1', {});
  const overrides = { batchPace, catalogueEveryMs: 100 };
  harness = await ChatHarness.start(overrides, { models: [...models, fleeting('1', '2')] });
  first = JSON.parse(await readFile(harness.modelsFile, 'utf8')) as Document;
});
afterEach(async () => {
  harness.simulator.reset();
  await write(first.models);
});
afterAll(() => harness.stop());

const write = (models: Document['models']): Promise<void> =>
  writeFile(harness.modelsFile, JSON.stringify({ ...first, models }));

/** Resolves once the catalogue has the model, or has it no more. */
const isThere = (id: string, status: number): Promise<void> =>
  eventually(async () => expect((await harness.get(`/v1/models/${id}`)).status).toBe(status));

const marker = { id: 'marker', provider: 'simulator' };
const others = (): Document['models'] => first.models.filter(({ id }) => id !== 'fleeting');
const raised = fleeting('1000', '2000');
const line = (id: string) => ({ id, body: { model: 'fleeting' } });

it.each([
  ['is gone', (): Document['models'] => others()],
  ['costs a thousand times as much', (): Document['models'] => [...others(), raised]],
])('a batch whose model %s by its end costs what it would have cost at its start', async (_name, models) => {
  harness.simulator.batches.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = sdkFor(harness, { tenantId });
  const batch = await begun(client, linesOf([line('a'), line('b')]));
  await write([...models(), marker]);
  await isThere('marker', 200);
  harness.simulator.batches.finish('completed');
  await ended(client, batch.id);
  const { input, output } = harness.simulator.batches.usage;
  const cost = BigInt(input) * 500_000n + BigInt(output) * 1_000_000n;
  const run = await harness.endedRun(runOf(batch.id));
  expect(run).toMatchObject({ priced: true, cost_pico: String(cost), price_source: 'catalogue' });
  await eventually(() => expect(charged(harness, tenantId)).toBe(cost));
  await write(first.models);
  await isThere('marker', 404);
});

it('a batch whose model had no price at its start is charged by the one at its end', async () => {
  harness.simulator.batches.held = true;
  await write([...others(), { id: 'fleeting', provider: 'simulator' }, marker]);
  await isThere('marker', 200);
  const client = sdkFor(harness, { tenantId: newId() });
  const batch = await begun(client, linesOf([line('a')]));
  await write([...others(), raised]);
  await isThere('marker', 404);
  harness.simulator.batches.finish('completed');
  await ended(client, batch.id);
  const { input, output } = harness.simulator.batches.usage;
  const run = await harness.endedRun(runOf(batch.id));
  expect(run).toMatchObject({
    priced: true,
    cost_pico: String(BigInt(input) * 500_000_000n + BigInt(output) * 1_000_000_000n),
  });
});

it.each([
  ['pictures', 'completion_tokens_details', 'image_tokens'],
  ['audio', 'prompt_tokens_details', 'audio_tokens'],
  ['cache writes', 'prompt_tokens_details', 'cache_write_tokens'],
])('a batch with %s, which have no price, charges its budget', async (_name, details, tokens) => {
  const there = harness.simulator.batches;
  there.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = sdkFor(harness, { tenantId });
  const batch = await begun(client, linesOf([line('a'), line('b')]));
  there.finish('completed');
  for (const file of there.files.values())
    if (file.object.id.startsWith('file-output'))
      file.content = file.content.replaceAll(`"${details}":`, `"${details}":{"${tokens}":1},"as_before":`);
  await ended(client, batch.id);
  expect(await harness.endedRun(runOf(batch.id))).toMatchObject({ priced: false });
  await eventually(() => expect(Number(charged(harness, tenantId))).toBeGreaterThan(0));
});

it('a batch with a tool of the provider that has no price is refused where there is a budget', async () => {
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const asked = { ...line('a').body, web_search_options: {} };
  const lines = linesOf([{ id: 'a', body: asked }]);
  expect(await refusal(begun(sdkFor(harness, { tenantId }), lines))).toMatchObject({
    ...{ status: 403, code: 'model_unpriced' },
  });
  await begun(sdkFor(harness, { tenantId: newId() }), lines);
});

it('a batch is charged at its end where a budget only counts, which refuses nothing', async () => {
  harness.simulator.batches.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { policies: [countingPolicy(harness)] });
  const client = sdkFor(harness, { tenantId });
  const batch = await begun(
    client,
    linesOf([{ id: 'a', body: { ...line('a').body, web_search_options: {} } }]),
  );
  expect(charged(harness, tenantId)).toBe(0n);
  harness.simulator.batches.finish('completed');
  await ended(client, batch.id);
  await eventually(() => expect(charged(harness, tenantId)).toBeGreaterThan(0n));
});

it('a batch with searches that no answer counts charges the fee of those that were answered', async () => {
  const tool = {
    ...fleeting('1', '2'),
    price: { ...fleeting('1', '2').price, per_tool_call: { web_search: '0.01' } },
  };
  await write([...others(), tool, marker]);
  await isThere('marker', 200);
  const there = harness.simulator.batches;
  there.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = sdkFor(harness, { tenantId });
  const body = { ...line('a').body, web_search_options: {} };
  const batch = await begun(client, linesOf([{ id: 'a', body }, line('b')]));
  there.finish('completed');
  await ended(client, batch.id);
  const { input, output } = there.usage;
  const cost = BigInt(input) * 500_000n + BigInt(output) * 1_000_000n;
  expect(await harness.endedRun(runOf(batch.id))).toMatchObject({ cost_pico: String(cost) });
  await eventually(() => expect(charged(harness, tenantId)).toBe(cost + 10_000_000_000n));
});
