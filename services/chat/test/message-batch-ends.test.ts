import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import type { Principal } from '@gatehouse/identity/principal';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { loseBatch } from './batch-apis.ts';
import { batchPace, charged } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import {
  anthropicFor,
  anthropicRefusal,
  endedBatch,
  messageRequests,
  messageRunOf,
  resultsOf,
  usageOf,
  withClaude,
  type MessageBatch,
} from './message-batch-client.ts';

/** Batches of messages: priced once by whichever replica, charged to budgets, repeated and bounded. */

let simulator: ProviderSimulator;
let harness: ChatHarness;
beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'provider-key' });
  harness = await ChatHarness.start({ batchPace }, withClaude(simulator));
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await harness.stop();
  await simulator.close();
});

const sdk = (principal: Partial<Principal>): Anthropic => anthropicFor(harness, principal);
const begun = (client: Anthropic, names: readonly string[], params = {}): Promise<MessageBatch> =>
  client.messages.batches.create({ requests: messageRequests(names, params) });
const costOf = ({ input, output }: { input: number; output: number }): bigint =>
  BigInt(input) * 500_000n + BigInt(output) * 1_000_000n;
const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n));

const lose = (batchId: string): Promise<void> => loseBatch(harness, messageRunOf(batchId));

const rowOf = (batchId: string): Promise<Record<string, unknown>[]> =>
  harness.rows('select provider_batch_id, content from chat.batches where id = $1', [messageRunOf(batchId)]);

describe('replicas', () => {
  it('that take a batch of a thousand requests from each other price it once, to the last digit', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const requests = numbers(1_000).flatMap((n) => messageRequests([n], { max_tokens: (Number(n) % 7) + 1 }));
    const { id } = await client.messages.batches.create({ requests });
    const others = [await harness.startReplica({ batchPace }), await harness.startReplica({ batchPace })];
    const taken = Promise.withResolvers<undefined>();
    simulator.messageBatches.answersAfter = (name) =>
      name.endsWith('/results') ? taken.promise.then(() => sleep(100)) : null;
    simulator.messageBatches.finish();
    const leases = new Set<unknown>();
    // As if the one that has it had stood still.
    const giveAway = async (): Promise<void> => {
      const rows = await harness.rows(
        'update chat.batches set due_at = now() where id = $1 and ended_at is null returning lease_id',
        [messageRunOf(id)],
      );
      for (const { lease_id: leaseId } of rows) if (leaseId !== null) leases.add(leaseId);
    };
    await eventually(async () => {
      await giveAway();
      expect(leases.size).toBeGreaterThan(1);
    }, 30_000);
    taken.resolve(undefined);
    for (let n = 0; n < 60; n += 1) {
      await giveAway();
      await sleep(20);
    }
    await others[0]?.stop();
    await endedBatch(client, id);
    await others[1]?.stop();
    const results = await resultsOf(client, id);
    expect(results.map(({ custom_id: name }) => name)).toEqual(numbers(1_000));
    const { input, output } = usageOf(results);
    const ends = await harness.endedRuns('run_id = $1', [messageRunOf(id)]);
    expect(ends).toHaveLength(1);
    const cost = costOf({ input, output });
    expect(ends[0]).toMatchObject({ input_tokens: input, output_tokens: output, cost_pico: String(cost) });
    await eventually(() => expect(charged(harness, tenantId)).toBe(cost));
  });

  it('find a batch whose answer was lost by its results, among others with as many requests', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const { id } = await begun(client, ['a', 'b']);
    const [row] = await rowOf(id);
    await lose(id);
    // As the operator may make some with the same key.
    const known = [...simulator.messageBatches.batches.values()];
    for (const { object, requests } of known) {
      const foreign = { ...object, id: `${object.id}-foreign` };
      const renamed = requests.map((request, n) => ({ ...request, custom_id: `foreign-${n}` }));
      simulator.messageBatches.batches.set(foreign.id, { object: foreign, requests: renamed, results: '' });
    }
    await sleep(500);
    // Nothing is known while both are under way.
    expect(await rowOf(id)).toEqual([{ provider_batch_id: null, content: null }]);
    simulator.messageBatches.finish();
    await endedBatch(client, id);
    expect(await rowOf(id)).toMatchObject([{ provider_batch_id: row?.['provider_batch_id'] }]);
    const results = await resultsOf(client, id);
    expect(results.map(({ custom_id: name }) => name)).toEqual(['a', 'b']);
    await eventually(() => expect(charged(harness, tenantId)).toBe(costOf(usageOf(results))));
    expect(await harness.endedRuns('run_id = $1', [messageRunOf(id)])).toHaveLength(1);
  });

  it('give back what was reserved for a batch that its provider never had', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const { id } = await begun(client, ['a']);
    await eventually(() => expect(charged(harness, tenantId)).toBeGreaterThan(0n));
    simulator.messageBatches.batches.clear();
    await lose(id);
    await eventually(async () => expect(await rowOf(id)).toEqual([]));
    await eventually(() => expect(charged(harness, tenantId)).toBe(0n));
  });

  it("give up a batch whose results can't be read, with an estimate", async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    const client = sdk({ tenantId });
    const { id } = await begun(client, ['a']);
    simulator.messageBatches.batches.clear();
    await harness.rows(`update chat.batches set failing_since = now() - interval '4 days' where id = $1`, [
      messageRunOf(id),
    ]);
    expect(await endedBatch(client, id)).toMatchObject({ results_url: null });
    expect(await harness.endedRun(messageRunOf(id))).toMatchObject({
      ...{ status: 'error', error_type: 'batch_unreachable', usage_estimated: true },
    });
    const results = await harness.get(`/v1/messages/batches/${id}/results`, { tenantId }, 'messages');
    expect([results.status, await results.text()]).toEqual([404, expect.stringContaining('no results')]);
  });
});

describe('a repeated start', () => {
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

  it('returns the same batch, and another body with the key is refused', async () => {
    const client = sdk({ tenantId: newId() });
    const key = newId();
    const start = (names: string[]) =>
      client.messages.batches.create({ requests: messageRequests(names) }, keyed(key));
    const [first, again] = [await start(['a']), await start(['a'])];
    expect(again).toEqual(first);
    expect(simulator.messageBatches.batches.size).toBe(1);
    expect(await anthropicRefusal(start(['b']))).toMatchObject({
      ...{ status: 409, code: 'idempotency_key_reused' },
    });
  });

  it('waits until it is known whether the provider has the batch of a replica that died', async () => {
    simulator.messageBatches.held = true;
    const client = sdk({ tenantId: newId() });
    const key = newId();
    const start = () => client.messages.batches.create({ requests: messageRequests(['a']) }, keyed(key));
    const { id } = await start();
    await harness.rows('delete from chat.idempotency_records where key = $1', [key]);
    await lose(id);
    expect(await anthropicRefusal(start())).toMatchObject({ status: 409, code: 'idempotency_in_progress' });
    simulator.messageBatches.finish();
    expect(await eventually(start)).toMatchObject({ id });
    expect(simulator.messageBatches.batches.size).toBe(1);
  });

  it('starts it where the provider cut the connection before it had it, and not where it has it', async () => {
    const client = sdk({ tenantId: newId() });
    simulator.messageBatches.held = true;
    const answer = Promise.withResolvers<undefined>();
    simulator.messageBatches.answersAfter = (name) => (name === 'POST batches' ? answer.promise : null);
    const key = newId();
    const start = () => client.messages.batches.create({ requests: messageRequests(['a']) }, keyed(key));
    const cut = anthropicRefusal(start());
    await eventually(() => expect(simulator.messageBatches.batches.size).toBe(1));
    answer.reject(new Error('cut'));
    expect((await cut).status).toBe(502);
    simulator.messageBatches.answersAfter = () => null;
    expect(await anthropicRefusal(start())).toMatchObject({ status: 409, code: 'idempotency_in_progress' });
    await harness.rows('update chat.batches set due_at = now() where provider_batch_id is null');
    simulator.messageBatches.finish();
    const { id } = await eventually(start);
    expect((await endedBatch(client, id)).request_counts.succeeded).toBe(1);
    expect(simulator.messageBatches.batches.size).toBe(1);
  });
});

describe('the deletion of a user', () => {
  it('hides batches, cancels those under way, and leaves their cost without the user', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    const client = sdk({ tenantId, userId: 'ursula' });
    const { id } = await begun(client, ['a', 'b']);
    const tenant = await harness.participant('tenant');
    const request = { tenantId, userId: 'ursula', deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
    await tenant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect((await client.messages.batches.list()).data).toEqual([]);
    const [there] = [...simulator.messageBatches.batches.values()];
    await eventually(() => expect(there?.object.processing_status).toBe('canceling'));
    simulator.messageBatches.finish('canceled', 1);
    const run = await harness.endedRun(messageRunOf(id));
    expect(run).toMatchObject({ status: 'cancelled', user_id: null });
    expect(run.input_tokens).toBeGreaterThan(0);
    await eventually(async () => {
      expect(simulator.messageBatches.batches.size).toBe(0);
      for (const table of ['files', 'batches'])
        expect(await harness.rows(`select 1 from chat.${table} where tenant_id = $1`, [tenantId])).toEqual(
          [],
        );
    });
  });
});

describe('a budget', () => {
  it('that is spent refuses a batch, and one that the provider refuses costs it nothing', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    harness.usedUp.add(tenantId);
    expect(await anthropicRefusal(begun(client, ['a']))).toMatchObject({
      status: 429,
      code: 'insufficient_quota',
    });
    expect(simulator.messageBatches.batches.size).toBe(0);
    harness.usedUp.delete(tenantId);
    simulator.setFault({ status: 400 });
    expect((await anthropicRefusal(begun(client, ['a']))).status).toBe(400);
    expect(await harness.rows('select 1 from chat.batches where tenant_id = $1', [tenantId])).toEqual([]);
    const settled = (): number => harness.settlements.filter((each) => each.tenantId === tenantId).length;
    await eventually(() => expect(settled()).toBeGreaterThan(0));
    await eventually(() => expect(charged(harness, tenantId)).toBe(0n));
  });

  it('holds the answers that a beta may lift beyond the limit of the model', async () => {
    simulator.messageBatches.held = true;
    const reservedWith = async (betas: Record<string, string>): Promise<number> => {
      const tenantId = newId();
      const requests = messageRequests(['a'], { model: 'short-claude', max_tokens: 300_000 });
      const { id } = await sdk({ tenantId }).messages.batches.create({ requests }, { headers: betas });
      const [row] = await harness.rows(
        'select reserved_tokens - reserved_input_tokens as output from chat.batches where id = $1',
        [messageRunOf(id)],
      );
      return Number(row?.['output']);
    };
    expect(await reservedWith({})).toBe(1_000);
    expect(await reservedWith({ 'anthropic-beta': 'output-300k-2026-03-24' })).toBe(300_000);
  });

  it('bounds the requests whose cost only the provider knows', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const search = { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] };
    expect(await anthropicRefusal(begun(client, numbers(5_001), search))).toMatchObject({
      ...{ status: 400, code: 'invalid_value' },
    });
    // The client carries these out itself.
    await begun(client, numbers(5_001), { tools: [{ type: 'bash_20250124', name: 'bash' }] });
  });
});

describe('bounds', () => {
  it('hold for the number of requests, the bytes, and the batches that are kept', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId });
    expect(await client.messages.batches.list({ limit: 1_000 })).toMatchObject({ data: [], has_more: false });
    const many = await anthropicRefusal(begun(client, numbers(10_001), { messages: [] }));
    expect(many).toMatchObject({ status: 400, message: expect.stringContaining('10000') });
    const tooLarge = { messages: [{ role: 'user', content: 'x'.repeat(33 * 1024 * 1024) }] };
    expect((await anthropicRefusal(begun(client, ['a'], tooLarge))).status).toBe(413);
    await harness.rows(
      `insert into chat.files (id, tenant_id, purpose, provider, provider_file_id, content, expires_at)
       select gen_random_uuid(), $1, 'message_batch', 'anthropic', 'f', '', now() + interval '1 day'
       from generate_series(1, 10000)`,
      [tenantId],
    );
    expect(await anthropicRefusal(begun(client, ['a']))).toMatchObject({
      status: 403,
      code: 'limit_reached',
    });
    expect(simulator.messageBatches.batches.size).toBe(0);
    await harness.rows('delete from chat.files where tenant_id = $1', [tenantId]);
  });

  it('hold for the bytes of a batch until its provider has it, though its client has left', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    const answer = Promise.withResolvers<undefined>();
    simulator.messageBatches.answersAfter = (name) => (name === 'POST batches' ? answer.promise : null);
    const held = async (): Promise<number> =>
      Number(/^gatehouse_body_bytes\S* (\S+)/m.exec(await harness.metrics())?.[1]);
    const length = 4 * 1024 * 1024;
    const requests = messageRequests(['a'], { messages: [{ role: 'user', content: 'x'.repeat(length) }] });
    const leaving = new AbortController();
    const { batches } = sdk({ tenantId }).messages;
    const left = batches.create({ requests }, { signal: leaving.signal }).catch(() => 'left');
    await eventually(() => expect(simulator.messageBatches.batches.size).toBe(1));
    leaving.abort();
    expect(await left).toBe('left');
    await sleep(500);
    expect(await held()).toBeGreaterThan(length);
    answer.resolve(undefined);
    await eventually(async () => expect(await held()).toBe(0));
  });

  it('hold for the starts of a minute', async () => {
    const tenantId = newId();
    await harness.rows(
      `insert into chat.minute_counts (tenant_id, kind, minute, count)
       values ($1, 'message_batches', date_trunc('minute', now()) + interval '1 minute', 60)`,
      [tenantId],
    );
    expect(await anthropicRefusal(begun(sdk({ tenantId }), ['a']))).toMatchObject({
      ...{ status: 429, code: 'rate_limit_exceeded' },
    });
  });

  it.each([
    ['many small requests', numbers(10_000), 'x'],
    ['few long ones', numbers(3), 'x'.repeat(9 * 1024 * 1024)],
  ])('leave the event loop to others while %s are read', async (_name, names, content) => {
    simulator.messageBatches.held = true;
    const requests = messageRequests(names, { messages: [{ role: 'user', content }] });
    const body = JSON.stringify({ requests });
    const blocked = await longestBlock(async () => {
      const response = await harness.post('/v1/messages/batches', body, {
        principal: { tenantId: newId() },
        headers: { 'x-gatehouse-dialect': 'messages', 'idempotency-key': newId() },
      });
      expect(response.status).toBe(200);
      await response.text();
    });
    // Ten times what one piece may take; the simulator and this client share the process.
    expect(blocked).toBeLessThan(500);
  });
});
