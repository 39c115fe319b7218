import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { sleep } from '@gatehouse/kit/clock';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import type OpenAI from 'openai';
import { loseBatch } from './batch-apis.ts';
import {
  batchPace,
  begun,
  charged,
  ended,
  linesOf,
  refusal,
  runOf,
  sdkFor,
  uploaded,
} from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';

/** The ends of batches: priced once, by whichever replica, and charged to budgets. */

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ batchPace });
});
afterEach(() => harness.simulator.reset());
afterAll(() => harness.stop());

const sdk = (principal: Partial<Principal>): OpenAI => sdkFor(harness, principal);

describe('replicas', () => {
  it('that take a batch of a thousand requests from each other price it once, to the last digit', async () => {
    harness.simulator.batches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const lines = Array.from({ length: 1_000 }, (_, n) => ({
      id: String(n),
      body: { max_tokens: (n % 7) + 1 },
    }));
    const batch = await begun(client, linesOf(lines));
    const others = [await harness.startReplica({ batchPace }), await harness.startReplica({ batchPace })];
    // Until another one has come.
    const taken = Promise.withResolvers<null>();
    harness.simulator.batches.answersAfter = (name) => (name.endsWith('/content') ? taken.promise : null);
    harness.simulator.batches.finish('completed');
    const leases = new Set<unknown>();
    for (let n = 0; n < 60 || (leases.size < 2 && n < 600); n += 1) {
      // As if the one that has it had stood still.
      const rows = await harness.rows(
        'update chat.batches set due_at = now() where id = $1 and ended_at is null returning lease_id',
        [runOf(batch.id)],
      );
      for (const { lease_id: id } of rows) if (id !== null) leases.add(id);
      if (leases.size > 1) taken.resolve(null);
      await sleep(20);
    }
    expect(leases.size).toBeGreaterThan(1);
    await others[0]?.stop();
    await ended(client, batch.id);
    await others[1]?.stop();
    const { input, output } = harness.simulator.batches.usage;
    const ends = await harness.endedRuns('run_id = $1', [runOf(batch.id)]);
    expect(ends).toHaveLength(1);
    const cost = BigInt(input) * 500_000n + BigInt(output) * 1_000_000n;
    expect(ends[0]).toMatchObject({ input_tokens: input, output_tokens: output, cost_pico: String(cost) });
    await eventually(() => expect(charged(harness, tenantId)).toBe(cost));
    expect((await client.files.list()).data).toHaveLength(2);
  });

  it('find a batch of which its provider did not say that it has it', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    const [row] = await harness.rows('select provider_batch_id from chat.batches where id = $1', [
      runOf(batch.id),
    ]);
    await loseBatch(harness, runOf(batch.id));
    await ended(client, batch.id);
    const [found] = await harness.rows('select provider_batch_id from chat.batches where id = $1', [
      runOf(batch.id),
    ]);
    expect(found).toEqual(row);
    expect(await harness.endedRuns('run_id = $1', [runOf(batch.id)])).toHaveLength(1);
    // Another one that the provider never had.
    harness.simulator.batches.held = true;
    const other = await begun(client, linesOf([{ id: 'b' }]));
    harness.simulator.batches.batches.clear();
    await loseBatch(harness, runOf(other.id));
    await eventually(async () =>
      expect(await harness.rows('select 1 from chat.batches where id = $1', [runOf(other.id)])).toEqual([]),
    );
  });

  it('find it behind thousands that the account has made since', async () => {
    const { batches } = harness.simulator.batches;
    harness.simulator.batches.held = true;
    const client = sdk({ tenantId: newId() });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    const [there] = [...batches.values()];
    // As long as OpenAI takes it.
    const metadata = Object.fromEntries(
      Array.from({ length: 16 }, (_, n) => [String(n).padStart(64, '語'), '語'.repeat(512)]),
    );
    for (let n = 0; n < 2_500; n += 1) {
      const id = `batch_other_${n}`;
      const other = { ...there, id, metadata, status: 'completed', input_file_id: 'file-other' };
      batches.set(other.id, other);
    }
    await loseBatch(harness, runOf(batch.id));
    const found = (): Promise<unknown[]> =>
      harness.rows('select provider_batch_id as id from chat.batches where id = $1', [runOf(batch.id)]);
    await eventually(async () => expect(await found()).toEqual([{ id: there?.id }]));
  });

  it('that stop give the batch that they work on to others at once', async () => {
    const idle = await ChatHarness.start({ batchPace: { ...batchPace, roundMs: 3_600_000 } });
    idle.simulator.batches.held = true;
    const replica = await idle.startReplica({ batchPace });
    const batch = await begun(sdkFor(idle, { tenantId: newId() }), linesOf([{ id: 'a' }]));
    idle.simulator.setFault({ status: 503, delay_ms: 60_000 });
    const leased = (): Promise<unknown[]> =>
      idle.rows('select 1 from chat.batches where id = $1 and lease_id is not null', [runOf(batch.id)]);
    await eventually(async () => expect(await leased()).toHaveLength(1));
    await replica.stop();
    expect(await leased()).toEqual([]);
    await idle.stop();
  });

  it('give up a batch that cannot be asked about, with an estimate', async () => {
    harness.simulator.batches.held = true;
    const client = sdk({ tenantId: newId() });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    harness.simulator.batches.clear();
    await harness.rows(`update chat.batches set failing_since = now() - interval '4 days' where id = $1`, [
      runOf(batch.id),
    ]);
    expect(await ended(client, batch.id)).toMatchObject({ status: 'failed' });
    const run = await harness.endedRun(runOf(batch.id));
    expect(run).toMatchObject({ status: 'error', error_type: 'batch_unreachable', usage_estimated: true });
    expect(run.input_tokens).toBeGreaterThan(0);
  });
});

describe('the deletion of a user', () => {
  it('hides files and batches, cancels those under way, and leaves their cost without the user', async () => {
    harness.simulator.batches.held = true;
    const tenantId = newId();
    const client = sdk({ tenantId, userId: 'ursula' });
    const batch = await begun(client, linesOf([{ id: 'a' }, { id: 'b' }]));
    const tenant = await harness.participant('tenant');
    const request = { tenantId, userId: 'ursula', deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
    const { counts } = await tenant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toMatchObject({ batches: 2n });
    expect((await client.batches.list()).data).toEqual([]);
    expect((await client.files.list()).data).toEqual([]);
    const [there] = [...harness.simulator.batches.batches.values()];
    await eventually(() => expect(there?.status).toBe('cancelling'));
    harness.simulator.batches.finish('cancelled', 1);
    const run = await harness.endedRun(runOf(batch.id));
    expect(run).toMatchObject({ status: 'cancelled', user_id: null });
    expect(run.input_tokens).toBeGreaterThan(0);
    await eventually(async () => {
      expect(harness.simulator.batches.files.size).toBe(0);
      for (const table of ['files', 'batches'])
        expect(await harness.rows(`select 1 from chat.${table} where tenant_id = $1`, [tenantId])).toEqual(
          [],
        );
    });
  });
});

describe('a budget', () => {
  it('is charged the most at the start, and in the end what the batch cost', async () => {
    harness.simulator.batches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const batch = await begun(client, linesOf([{ id: 'a', body: { max_tokens: 1_000 } }]));
    // 1,000 tokens of output at a millionth of a USD, and the bytes of the request.
    await eventually(() => expect(charged(harness, tenantId)).toBeGreaterThan(1_000_000_000n));
    harness.simulator.batches.finish('completed');
    await ended(client, batch.id);
    const { input, output } = harness.simulator.batches.usage;
    const cost = BigInt(input) * 500_000n + BigInt(output) * 1_000_000n;
    await eventually(() => expect(charged(harness, tenantId)).toBe(cost));
  });

  it('that is spent refuses a batch, and one that the provider refuses costs it nothing', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
    const batch = {
      input_file_id: id,
      endpoint: '/v1/chat/completions' as const,
      completion_window: '24h' as const,
    };
    harness.usedUp.add(tenantId);
    expect(await refusal(client.batches.create(batch))).toMatchObject({
      status: 429,
      code: 'insufficient_quota',
    });
    harness.usedUp.delete(tenantId);
    harness.simulator.setFault({ status: 400 });
    expect((await refusal(client.batches.create(batch))).status).toBe(400);
    expect(await harness.rows('select 1 from chat.batches where tenant_id = $1', [tenantId])).toEqual([]);
    const settled = (): number => harness.settlements.filter((each) => each.tenantId === tenantId).length;
    await eventually(() => expect(settled()).toBeGreaterThan(0));
    await eventually(() => expect(charged(harness, tenantId)).toBe(0n));
  });
});
