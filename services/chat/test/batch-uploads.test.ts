import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { batchPace, linesOf, refusal, runOf, sdkFor, slowUpload, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';

/** Uploads without a usual end: no file stays at a provider without a row. */

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ batchPace });
});
afterEach(() => harness.simulator.reset());
afterAll(() => harness.stop());

const sdk = (principal: Partial<Principal>): OpenAI => sdkFor(harness, principal);
const rowsOf = (tenantId: string) =>
  harness.rows('select provider_file_id, deleted_at from chat.files where tenant_id = $1', [tenantId]);
const filesThere = () => harness.simulator.batches.files;

/** Holds the answer to an upload back, which the provider has taken. Returns what sends it. */
function heldAnswer(): () => void {
  const answer = Promise.withResolvers<undefined>();
  harness.simulator.batches.answersAfter = (name) => (name === 'POST files' ? answer.promise : null);
  return () => answer.resolve(undefined);
}

/** As a replica leaves a file that dies between the provider's answer and its own row. */
async function loseAnswer(fileId: string): Promise<void> {
  await harness.rows(
    `update chat.files set provider_file_id = null, requests = null, content = '', deleted_at = now(), due_at = now()
     where id = $1`,
    [runOf(fileId.replace('file-', 'batch_'))],
  );
}

describe('a client that leaves', () => {
  it('when all of its file was sent has the file, and gets it for a repeat', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId, keyId: newId() });
    const answer = heldAnswer();
    const leaving = new AbortController();
    const options = { headers: { 'Idempotency-Key': newId() } };
    const file = () => toFile(Buffer.from(linesOf([{ id: 'a' }])), 'requests.jsonl');
    const upload = client.files.create(
      { file: await file(), purpose: 'batch' },
      { ...options, signal: leaving.signal },
    );
    await eventually(() => expect(filesThere().size).toBe(1));
    leaving.abort();
    await expect(upload).rejects.toThrow();
    answer();
    const kept = await eventually(async () => {
      const { data } = await client.files.list();
      expect(data).toHaveLength(1);
      return data[0];
    });
    const repeated = await client.files.create({ file: await file(), purpose: 'batch' }, options);
    expect(repeated.id).toBe(kept?.id);
    expect(filesThere().size).toBe(1);
    expect((await client.files.content(repeated.id)).status).toBe(200);
  });

  it('before that has none, nor a row', async () => {
    const tenantId = newId();
    const { answer, leave } = await slowUpload(harness, { tenantId });
    await eventually(async () => expect(await rowsOf(tenantId)).toHaveLength(1));
    expect((await sdk({ tenantId }).files.list()).data).toEqual([]);
    leave();
    await expect(answer).rejects.toThrow();
    await eventually(async () => expect(await rowsOf(tenantId)).toEqual([]));
    expect(filesThere().size).toBe(0);
  });
});

describe('a file whose answer was lost', () => {
  it('with its replica is found at the provider and deleted', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId });
    const [lost, other] = [
      await uploaded(client, linesOf([{ id: 'a' }])),
      await uploaded(client, linesOf([{ id: 'b' }])),
    ];
    await loseAnswer(lost.id);
    await eventually(() => expect(filesThere().size).toBe(1));
    await eventually(async () => expect(await rowsOf(tenantId)).toHaveLength(1));
    expect((await client.files.retrieve(other.id)).id).toBe(other.id);
    expect((await client.files.content(other.id)).status).toBe(200);
  });

  it('and that the provider never had is looked for twice, a minute apart', async () => {
    const tenantId = newId();
    const { id } = await uploaded(sdk({ tenantId }), linesOf([{ id: 'a' }]));
    filesThere().clear();
    await loseAnswer(id);
    const tried = () => harness.rows('select tries from chat.files where tenant_id = $1', [tenantId]);
    await eventually(async () => expect(await tried()).toEqual([{ tries: 1 }]));
    await harness.rows('update chat.files set due_at = now() where tenant_id = $1', [tenantId]);
    await eventually(async () => expect(await tried()).toEqual([]));
  });

  it('by an error of the provider is not left there', async () => {
    const tenantId = newId();
    harness.simulator.batches.answersAfter = (name) =>
      name === 'POST files' ? Promise.reject(new Error('no answer')) : null;
    const error = await refusal(uploaded(sdk({ tenantId }), linesOf([{ id: 'a' }])));
    expect(error.status).toBe(502);
    expect(filesThere().size).toBe(1);
    harness.simulator.batches.answersAfter = () => null;
    // The minute in which the provider may still be busy with it.
    await harness.rows('update chat.files set due_at = now() where tenant_id = $1', [tenantId]);
    await eventually(() => expect(filesThere().size).toBe(0));
    await eventually(async () => expect(await rowsOf(tenantId)).toEqual([]));
  });
});

it('a file of a user who is deleted while it is uploaded is not shown', async () => {
  const tenantId = newId();
  const client = sdk({ tenantId, userId: 'ursula' });
  const answer = heldAnswer();
  const upload = refusal(uploaded(client, linesOf([{ id: 'a' }])));
  await eventually(() => expect(filesThere().size).toBe(1));
  const tenant = await harness.participant('tenant');
  const request = { tenantId, userId: 'ursula', deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
  await tenant.call('forgetUser', request, { deadlineMs: 5_000 });
  answer();
  expect((await upload).status).toBe(503);
  await eventually(() => expect(filesThere().size).toBe(0));
  expect((await client.files.list()).data).toEqual([]);
});

describe('a file with an expiry', () => {
  const hourS = 3_600;
  const input = () => toFile(Buffer.from(linesOf([{ id: 'a' }])), 'requests.jsonl');
  const seconds = 'expires_after[seconds]';
  const anchor = 'expires_after[anchor]';
  const post = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new FormData();
    for (const [name, value] of Object.entries({ purpose: 'batch', file: '', ...fields }))
      if (name === 'file') body.append(name, new Blob([linesOf([{ id: 'a' }])]), 'a.jsonl');
      else body.append(name, value);
    const assertion = await harness.identity.assertion(makePrincipal({ tenantId, keyId }));
    const response = await fetch(`${harness.url}/v1/files`, {
      method: 'POST',
      body,
      headers: { 'x-gatehouse-assertion': assertion, ...headers },
    });
    return { status: response.status, body: (await response.json()) as OpenAI.FileObject };
  };
  let tenantId: string;
  let keyId: string;
  beforeEach(() => {
    [tenantId, keyId] = [newId(), newId()];
  });

  it('of the SDK shows it, and ends then', async () => {
    const client = sdk({ tenantId });
    const expires_after = { anchor: 'created_at' as const, seconds: hourS };
    const file = await client.files.create({ file: await input(), purpose: 'batch', expires_after });
    expect(file.expires_at).toBe(file.created_at + hourS);
    expect((await client.files.retrieve(file.id)).expires_at).toBe(file.expires_at);
    const [row] = await harness.rows(
      'select extract(epoch from expires_at - created_at)::integer as s from chat.files where tenant_id = $1',
      [tenantId],
    );
    expect(row).toEqual({ s: hourS });
    await harness.rows('update chat.files set expires_at = now() where tenant_id = $1', [tenantId]);
    expect((await client.files.list()).data).toEqual([]);
    await eventually(() => expect(filesThere().size).toBe(0));
  });

  it('may not outlive the texts of its tenant', async () => {
    harness.settings.set(tenantId, { retentionDays: 1 });
    const expires_after = { anchor: 'created_at' as const, seconds: 2_592_000 };
    const file = await sdk({ tenantId }).files.create({
      file: await input(),
      purpose: 'batch',
      expires_after,
    });
    expect(file.expires_at).toBe(file.created_at + 24 * hourS);
  });

  it.each<Record<string, string>>([
    { [anchor]: 'created_at', [seconds]: '3600' },
    { [seconds]: '3600', file: '', [anchor]: 'created_at' },
    { expires_after: '{"anchor":"created_at","seconds":3600}' },
  ])('may be %j', async (fields) => {
    const { status, body } = await post(fields);
    expect([status, body.expires_at]).toEqual([200, body.created_at + hourS]);
  });

  it.each<Record<string, string>>([
    { [anchor]: 'created_at' },
    { [seconds]: '3600' },
    { [anchor]: 'last_active_at', [seconds]: '3600' },
    { [anchor]: 'created_at', [seconds]: '3599' },
    { [anchor]: 'created_at', [seconds]: '2592001' },
    { [anchor]: 'created_at', [seconds]: '3600.5' },
    { [anchor]: 'created_at', [seconds]: 'x' },
    { [anchor]: 'created_at', [seconds]: '' },
    { expires_after: '3600' },
    { expires_after: 'null' },
    { expires_after: '{"anchor":"created_at","seconds":3600,"x":1}' },
    { expires_after: '{"anchor":"created_at","seconds":3600}', [seconds]: '3600' },
  ])('of another form is refused: %j', async (fields) => {
    expect(await post(fields)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'expires_after' } },
    });
    expect(await rowsOf(tenantId)).toEqual([]);
  });

  it('of another length is another request under its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': newId() };
    const fields = { [anchor]: 'created_at', [seconds]: '3600' };
    const first = await post(fields, headers);
    expect(await post(fields, headers)).toEqual(first);
    expect((await post({ ...fields, [seconds]: '7200' }, headers)).status).toBe(409);
    expect((await post({}, headers)).status).toBe(409);
  });
});
