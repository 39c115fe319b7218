import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { batchPace, charged, ended, linesOf, refusal, runOf, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';

/** Uploads and starts of batches with an `Idempotency-Key`: each takes effect once. */

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ batchPace });
});
afterEach(() => harness.simulator.reset());
afterAll(() => harness.stop());

/** A client by one API key: answers are repeated to that alone. */
function client(tenantId = newId()): OpenAI {
  return sdkFor(harness, { tenantId, keyId: newId() });
}

const asked = (fileId: string): OpenAI.BatchCreateParams => ({
  ...{ input_file_id: fileId, endpoint: '/v1/chat/completions', completion_window: '24h' },
  metadata: { night: 'yes' },
});

const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });
const inProgress = { status: 409, code: 'idempotency_in_progress' };
const reused = { status: 409, code: 'idempotency_key_reused' };
const replayedHeader = 'idempotency-replayed';

describe('a repeated start of a batch', () => {
  it('returns the same batch, which the provider gets and budgets pay once', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const sdk = client(tenantId);
    const { id: fileId } = await uploaded(sdk, linesOf([{ id: 'a' }]));
    const key = newId();
    const first = await sdk.batches.create(asked(fileId), keyed(key)).withResponse();
    const again = await sdk.batches.create(asked(fileId), keyed(key)).withResponse();
    expect(again.data).toEqual(first.data);
    expect([first, again].map(({ response }) => response.headers.get(replayedHeader))).toEqual([
      null,
      'true',
    ]);
    expect(harness.simulator.batches.batches.size).toBe(1);
    const other = { ...asked(fileId), metadata: {} };
    expect(await refusal(sdk.batches.create(other, keyed(key)))).toMatchObject(reused);
    await ended(sdk, first.data.id);
    const run = await harness.endedRun(runOf(first.data.id));
    await eventually(() => expect(String(charged(harness, tenantId))).toBe(run.cost_pico));
    expect((await sdk.batches.list()).data).toHaveLength(1);
  });

  it('at the same time as the first starts no other', async () => {
    const sdk = client();
    const { id: fileId } = await uploaded(sdk, linesOf([{ id: 'a' }]));
    const key = newId();
    const starts = Array.from({ length: 5 }, () => sdk.batches.create(asked(fileId), keyed(key)));
    const settled = await Promise.allSettled(starts);
    for (const each of settled) if (each.status === 'rejected') expect(each.reason).toMatchObject(inProgress);
    const ids = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []));
    expect(new Set(ids).size).toBe(1);
    expect(harness.simulator.batches.batches.size).toBe(1);
  });

  it('waits until it is known whether the provider has the batch of a replica that died', async () => {
    harness.simulator.batches.held = true;
    const sdk = client();
    const { id: fileId } = await uploaded(sdk, linesOf([{ id: 'a' }]));
    const key = newId();
    const start = () => sdk.batches.create(asked(fileId), keyed(key));
    const { id } = await start();
    // As a crash leaves it after the provider's answer; the claim has run out.
    await harness.rows('delete from chat.idempotency_records where key = $1', [key]);
    await harness.rows(
      `update chat.batches set provider_batch_id = null, content = null, due_at = now() + interval '1 hour'
       where id = $1`,
      [runOf(id)],
    );
    await harness.rows('delete from chat.outbox where run_id = $1', [runOf(id)]);
    expect(await refusal(start())).toMatchObject(inProgress);
    // It was not stored as an answer.
    expect(await refusal(start())).toMatchObject(inProgress);
    await harness.rows('update chat.batches set due_at = now() where id = $1', [runOf(id)]);
    const again = await eventually(start);
    expect(again).toMatchObject({ id, input_file_id: fileId, metadata: { night: 'yes' } });
    expect(harness.simulator.batches.batches.size).toBe(1);
    const replayed = await sdk.batches.create(asked(fileId), keyed(key)).withResponse();
    expect([replayed.data.id, replayed.response.headers.get(replayedHeader)]).toEqual([id, 'true']);
  });

  it('starts it where the provider did not take it', async () => {
    const sdk = client();
    const { id: fileId } = await uploaded(sdk, linesOf([{ id: 'a' }]));
    const key = newId();
    harness.simulator.setFault({ status: 429 });
    expect(await refusal(sdk.batches.create(asked(fileId), keyed(key)))).toMatchObject({ status: 429 });
    harness.simulator.setFault(null);
    const { id } = await sdk.batches.create(asked(fileId), keyed(key));
    expect((await ended(sdk, id)).status).toBe('completed');
  });
});

describe('a start that took longer than others wait', () => {
  it('is cancelled at the provider, since no tenant has it', async () => {
    const sdk = client();
    const { id: fileId } = await uploaded(sdk, linesOf([{ id: 'a' }]));
    const answer = Promise.withResolvers<undefined>();
    const { batches } = harness.simulator;
    batches.held = true;
    batches.answersAfter = (name) => (name === 'POST batches' ? answer.promise : null);
    const starting = refusal(sdk.batches.create(asked(fileId), keyed(newId())));
    await eventually(() => expect(batches.batches.size).toBe(1));
    await harness.rows('delete from chat.batches where provider_file_id is not null and ended_at is null');
    answer.resolve(undefined);
    expect(await starting).toMatchObject({ status: 503, code: 'service_unavailable' });
    expect([...batches.batches.values()]).toMatchObject([
      { status: expect.stringMatching(/^cancel/) as unknown },
    ]);
    expect((await sdk.batches.list()).data).toEqual([]);
  });
});

describe('a repeated upload', () => {
  const upload = (sdk: OpenAI, key: string, text = linesOf([{ id: 'a' }]), name = 'requests.jsonl') =>
    toFile(Buffer.from(text), name).then((file) =>
      sdk.files.create({ file, purpose: 'batch' }, keyed(key)).withResponse(),
    );

  it('returns the same file, by the bytes and the name of the file alone', async () => {
    const sdk = client();
    const key = newId();
    const first = await upload(sdk, key);
    const again = await upload(sdk, key);
    expect(again.data).toEqual(first.data);
    expect(again.response.headers.get(replayedHeader)).toBe('true');
    expect(harness.simulator.batches.files.size).toBe(1);
    expect(await refusal(upload(sdk, key, linesOf([{ id: 'b' }])))).toMatchObject(reused);
    expect(await refusal(upload(sdk, key, linesOf([{ id: 'a' }]), 'other.jsonl'))).toMatchObject(reused);
    expect(await refusal(upload(client(), key, '{\n'))).toMatchObject({ status: 400 });
    expect((await sdk.files.list()).data).toHaveLength(1);
  });

  it('may follow one that was refused', async () => {
    const sdk = client();
    const key = newId();
    expect(await refusal(upload(sdk, key, '{\n'))).toMatchObject({ status: 400 });
    const { data, response } = await upload(sdk, key);
    expect([data.object, response.headers.get(replayedHeader)]).toEqual(['file', null]);
  });

  it('is refused while the first is under way', async () => {
    const sdk = client();
    const key = newId();
    const answer = Promise.withResolvers<undefined>();
    harness.simulator.batches.answersAfter = (name) => (name === 'POST files' ? answer.promise : null);
    const first = upload(sdk, key);
    await eventually(async () =>
      expect(await harness.rows('select 1 from chat.idempotency_records where key = $1', [key])).toHaveLength(
        1,
      ),
    );
    expect(await refusal(upload(sdk, key))).toMatchObject(inProgress);
    answer.resolve(undefined);
    expect((await first).data.object).toBe('file');
  });
});
