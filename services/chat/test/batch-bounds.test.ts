import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { longestBlock } from '@gatehouse/test/longest-block';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import {
  batchPace,
  begun,
  ended,
  linesOf,
  refusal,
  runOf,
  sdkFor,
  slowUpload,
  uploaded,
} from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';

/** The most of everything that grows: lines, bytes, files, batches, tokens, and work beside that of others. */

const MiB = 1024 * 1024;

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ batchPace });
});
afterEach(() => harness.simulator.reset());
afterAll(() => harness.stop());

const sdk = (principal: Partial<Principal>): OpenAI => sdkFor(harness, principal);

/** Lines that are as short as they can be. */
function shortLines(count: number): string {
  return linesOf(Array.from({ length: count }, (_, n) => ({ id: String(n), body: { max_tokens: 1 } })));
}

describe('a file', () => {
  it('has at most 50,000 lines, of 8 MiB each', async () => {
    const client = sdk({ tenantId: newId() });
    const tooMany = await refusal(uploaded(client, shortLines(50_001)));
    expect(tooMany).toMatchObject({ status: 400, param: 'file' });
    expect(tooMany.message).toContain('50000 lines');
    const long = { messages: [{ role: 'user', content: 'x'.repeat(8 * MiB) }] };
    const tooLong = await refusal(uploaded(client, linesOf([{ id: 'a' }, { id: 'b', body: long }])));
    expect(tooLong).toMatchObject({ status: 400 });
    expect(tooLong.message).toContain('Line 2');
    expect(harness.simulator.batches.files.size).toBe(0);
  });

  it('has at most 200 MiB, of which none are read where its length says more', async () => {
    const response = await fetch(`${harness.url}/v1/files`, {
      ...{ method: 'POST', duplex: 'half' as const },
      body: new ReadableStream({ pull: (to) => to.enqueue(Buffer.alloc(64)) }),
      headers: {
        ...{ 'content-type': 'multipart/form-data; boundary=b', 'content-length': String(200 * MiB + 1) },
        'x-gatehouse-assertion': await harness.identity.assertion(makePrincipal({})),
      },
    });
    expect(response.status).toBe(413);
  });

  it('is one of 10,000 of its tenant', async () => {
    const tenantId = newId();
    await harness.rows(
      `insert into chat.files (id, tenant_id, purpose, provider, provider_file_id, content, expires_at)
       select gen_random_uuid(), $1, 'batch', 'simulator', 'f', '', now() + interval '1 day'
       from generate_series(1, 10000)`,
      [tenantId],
    );
    expect(await refusal(uploaded(sdk({ tenantId }), linesOf([{ id: 'a' }])))).toMatchObject({
      ...{ status: 403, code: 'limit_reached' },
    });
    expect(harness.simulator.batches.files.size).toBe(0);
    await harness.rows('delete from chat.files where tenant_id = $1', [tenantId]);
  });

  it('is one of two that a tenant uploads at a time, which hold up no other tenant', async () => {
    const tenantId = newId();
    const slow = [await slowUpload(harness, { tenantId }), await slowUpload(harness, { tenantId })];
    await eventually(async () =>
      expect(await harness.rows('select from chat.files where tenant_id = $1', [tenantId])).toHaveLength(2),
    );
    expect(await refusal(uploaded(sdk({ tenantId }), linesOf([{ id: 'a' }])))).toMatchObject({
      ...{ status: 429, code: 'rate_limit_exceeded' },
    });
    expect((await uploaded(sdk({ tenantId: newId() }), linesOf([{ id: 'a' }]))).object).toBe('file');
    for (const { finish } of slow) finish();
    for (const { answer } of slow) expect((await answer).status).toBe(200);
    expect((await uploaded(sdk({ tenantId }), linesOf([{ id: 'a' }]))).object).toBe('file');
  });
});

describe('an upload', () => {
  const fast = { minBytesPerSecond: 1, windowMs: 60_000, mostMs: 60_000 };

  it.each([
    ['slower than its pace', { ...fast, minBytesPerSecond: 10_000, windowMs: 1_200 }, 'too slowly'],
    ['longer than it may', { ...fast, mostMs: 300 }, 'longer than'],
  ])('that is %s ends with 408, and leaves nothing behind', async (_name, upload, message) => {
    const paced = await ChatHarness.start({ batchPace: { ...batchPace, upload } });
    const { answer, send } = await slowUpload(paced, { tenantId: newId() });
    const sending = setInterval(() => send(Buffer.from('\n')), 100);
    const response = await answer.finally(() => clearInterval(sending));
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([408, 'request_timeout']);
    expect(error.message).toContain(message);
    await eventually(async () => expect(await paced.rows('select 1 from chat.files')).toEqual([]));
    expect(paced.simulator.batches.files.size).toBe(0);
    await paced.stop();
  });
});

describe('requests that call a provider', () => {
  it('are 60 a minute of each kind, without heads and repeats', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId, keyId: newId() });
    const keyed = { headers: { 'Idempotency-Key': newId() } };
    const upload = async () => {
      const file = await toFile(Buffer.from(linesOf([{ id: 'a' }])), 'requests.jsonl');
      return client.files.create({ file, purpose: 'batch' }, keyed);
    };
    const { id } = await upload();
    harness.simulator.batches.held = true;
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    // A minute that does not end during the test.
    for (const kind of ['file_uploads', 'file_downloads', 'batch_cancellations'])
      await harness.rows(
        `insert into chat.minute_counts (tenant_id, kind, minute, count)
         values ($1, $2, date_trunc('minute', now()) + interval '1 minute', 59)
         on conflict (tenant_id, kind) do update set minute = excluded.minute, count = excluded.count`,
        [tenantId, kind],
      );
    const limited = { status: 429, code: 'rate_limit_exceeded' };
    const head = async () => {
      const path = `${harness.url}/v1/files/${id}/content`;
      const proof = await harness.identity.assertion(makePrincipal({ tenantId }));
      return (await fetch(path, { method: 'HEAD', headers: { 'x-gatehouse-assertion': proof } })).status;
    };
    for (let n = 0; n < 3; n += 1) expect([(await upload()).id, await head()]).toEqual([id, 200]);
    await uploaded(client, linesOf([{ id: 'b' }]));
    expect(await refusal(uploaded(client, linesOf([{ id: 'b' }])))).toMatchObject(limited);
    await client.files.content(id);
    expect(await refusal(client.files.content(id))).toMatchObject(limited);
    await client.batches.cancel(batch.id);
    expect(await refusal(client.batches.cancel(batch.id))).toMatchObject(limited);
    expect((await uploaded(sdk({ tenantId: newId() }), linesOf([{ id: 'a' }]))).object).toBe('file');
  });
});

describe('batches under way', () => {
  it('are at most 1,000 of a tenant', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId });
    harness.simulator.batches.held = true;
    const { id } = await begun(client, linesOf([{ id: 'a' }]));
    const columns = `tenant_id, api_key_id, provider, input_file_id, provider_file_id, model, upstream_model, requests,
      reserved_input_tokens, reserved_tokens, reserved_pico, run, days`;
    await harness.rows(
      `insert into chat.batches (id, due_at, ${columns})
       select gen_random_uuid(), now() + interval '1 day', ${columns}
       from chat.batches, generate_series(2, 1000) where id = $1`,
      [runOf(id)],
    );
    expect(await refusal(begun(client, linesOf([{ id: 'a' }])))).toMatchObject({
      ...{ status: 403, code: 'limit_reached' },
    });
    await harness.rows('delete from chat.batches where tenant_id = $1', [tenantId]);
  });

  it('may use the tokens of a day together', async () => {
    harness.simulator.batches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.TOKENS] });
    // Then the limit is 5 tokens per minute, which are 7,200 a day.
    harness.usedUp.add(tenantId);
    const client = sdk({ tenantId });
    const asking = (tokens: number) => begun(client, linesOf([{ id: 'a', body: { max_tokens: tokens } }]));
    expect(await refusal(asking(8_000))).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    await asking(4_000);
    const error = await refusal(asking(4_000));
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(error.message).toContain('7200 tokens');
    harness.simulator.batches.finish('completed');
    await eventually(() => asking(4_000));
  });
});

describe('a form that is whole, and none', () => {
  it.each(['', 'None--b--\r\n', '--b\r\nNone--b--\r\n', '--b--\r\n', '--b\r\n\r\nx'])(
    'is refused (%j)',
    async (body) => {
      const assertion = await harness.identity.assertion(makePrincipal({ tenantId: newId() }));
      const answer = await fetch(`${harness.url}/v1/files`, {
        method: 'POST',
        headers: {
          ...{ 'x-gatehouse-assertion': assertion, 'content-type': 'multipart/form-data; boundary=b' },
        },
        body,
      });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error: { code: expect.any(String) } },
      ]);
    },
  );
});

describe('requests whose cost only the provider knows', () => {
  it('are at most 5,000 of the batches under way where a budget counts', async () => {
    harness.simulator.batches.held = true;
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const client = sdk({ tenantId });
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/p.png' } };
    const withPicture = { messages: [{ role: 'user', content: [picture] }] };
    const text = (count: number) =>
      linesOf(
        Array.from({ length: count }, (_, n) => ({
          id: String(n),
          // The model has no limit in the catalogue: what an answer without one costs is a guess.
          body:
            [{ max_tokens: 1, ...withPicture }, { max_tokens: 1, tools: [{ type: 'mcp' }] }, {}][n % 3] ?? {},
        })),
      );
    expect(await refusal(begun(client, text(5_001)))).toMatchObject({
      ...{ status: 400, code: 'invalid_value', param: 'input_file_id' },
    });
    await begun(client, text(3_000));
    expect(await refusal(begun(client, text(2_001)))).toMatchObject({
      ...{ status: 429, code: 'rate_limit_exceeded' },
    });
    // Others are measured, and without a budget nothing is reserved.
    await begun(client, shortLines(2_001));
    await begun(client, text(2_000));
    const free = sdk({ tenantId: newId() });
    await begun(free, text(5_001));
    await harness.rows('delete from chat.batches');
  });
});

describe('a large batch', () => {
  it('neither blocks the event loop nor holds up the batch of another tenant', async () => {
    const { batches } = harness.simulator;
    batches.held = true;
    const large = sdk({ tenantId: newId() });
    const batch = await begun(large, shortLines(5_000));
    const other = sdk({ tenantId: newId() });
    batches.finish('completed');
    // So that its results are being read when the other batch ends.
    await eventually(async () => {
      const leased = 'select 1 from chat.batches where id = $1 and lease_id is not null';
      expect(await harness.rows(leased, [runOf(batch.id)])).toHaveLength(1);
    });
    const small = await begun(other, linesOf([{ id: 'a' }]));
    batches.finish('completed');
    const blocked = await longestBlock(async () => {
      await ended(other, small.id);
      expect((await large.batches.retrieve(batch.id)).output_file_id).toBeNull();
      await eventually(async () => {
        const { status } = await large.batches.retrieve(batch.id);
        expect(status).toBe('completed');
      }, 60_000);
    });
    // Ten times as long as the event loop may be held up.
    expect(blocked).toBeLessThan(500);
    expect(await harness.endedRun(runOf(batch.id))).toMatchObject({ status: 'ok', priced: true });
  });
});
