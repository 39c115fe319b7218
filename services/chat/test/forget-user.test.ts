import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RpcClient } from '@gatehouse/grpc/client';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import type {
  ForgetUserResponse,
  ParticipantServiceClient,
} from '@gatehouse/proto/participant/v1/participant';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { ForgottenUsers } from '../src/recording/forgotten-users-job.ts';
import { LateContents } from '../src/recording/late-contents-job.ts';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';

const secret = 'my secret is 4711';
const settleMs = 300;

let harness: ChatHarness;
let tenant: RpcClient<ParticipantServiceClient>;
beforeAll(async () => {
  harness = await ChatHarness.start({ forgetSettleMs: settleMs });
  tenant = await harness.participant('tenant');
  harness.agents.set('extractor', makeAgent({ key: 'extractor' }));
});
afterEach(() => harness.simulator.setFault(null));
afterAll(async () => harness.stop());

async function forget(tenantId: string, userId: string, at = Date.now()): Promise<ForgetUserResponse> {
  const request = { tenantId, userId, deletionId: newId(), requestedAtMs: BigInt(at) };
  return tenant.call('forgetUser', request, { deadlineMs: 5_000 });
}

const ask = (tenantId: string, userId: string | null, fields: Record<string, unknown> = {}) =>
  harness.post('/v1/chat/completions', chat(secret, fields), {
    principal: { tenantId, userId },
    headers: { 'x-session-id': 'a-talk' },
  });

/** Late runs are looked for by a part of its own, as in another replica. */
async function sweep(): Promise<void> {
  const log = createLogger('chat', 'silent');
  const pool = createPool({ url: harness.database.url, role: 'chat_system', max: 1, log });
  await new ForgottenUsers({ pool, log }).sweep();
  await pool.end();
}

/** The same of contents. */
async function sweepContents(): Promise<void> {
  const log = createLogger('chat', 'silent');
  const pool = createPool({ url: harness.database.url, role: 'chat_system', max: 1, log });
  await new LateContents(pool, log).sweep();
  await pool.end();
}

/** The rows of a tenant, in any table, that have this text in them. */
async function rowsWith(tenantId: string, text: string): Promise<string[]> {
  const tables = await harness.rows(
    `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = 'chat'::regnamespace and relkind = 'r' and attname = 'tenant_id'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const statement = `select t::text as row from chat.${String(name)} t where tenant_id = $1`;
    for (const { row } of await harness.rows(statement, [tenantId]))
      if (String(row).includes(text)) found.push(String(name));
  }
  return found;
}

describe('ForgetUser', () => {
  it.each(['ursula', 'a"d\\a', "~ user %_ \\' x"])(
    'removes the user %s and all texts from events that wait, and keeps amounts and other users',
    async (user) => {
      const tenantId = newId();
      const response = await ask(tenantId, user, { x_simulator: { content: `I know: ${secret}` } });
      await ask(tenantId, 'grace');
      await ask(tenantId, null);
      await eventually(async () =>
        expect(await harness.endedRuns('tenant_id = $1', [tenantId])).toHaveLength(3),
      );
      const { counts } = await forget(tenantId, user);
      expect(counts).toEqual({
        ...{ completions: 0n, responses: 0n, contents: 0n, thoughts: 0n, seals: 0n },
        ...{ batches: 0n, runs: 1n },
      });
      const [own, ...others] = await harness.endedRuns('tenant_id = $1', [tenantId]);
      expect(own).toMatchObject({
        run_id: response.headers.get('x-run-id'),
        user_id: null,
        session_id: null,
        input_preview: null,
        output_preview: null,
        status: 'ok',
      });
      expect(own?.input_tokens).toBeGreaterThan(0);
      expect(others).toMatchObject([
        { user_id: 'grace', session_id: 'a-talk', input_preview: secret },
        { input_preview: secret },
      ]);
    },
  );

  it('removes the user and all texts from a run that ends later', async () => {
    const tenantId = newId();
    harness.simulator.setFault({ delay_ms: 5_000 });
    const fields = { x_simulator: { content: secret } };
    const asked = [ask(tenantId, 'ursula', fields), ask(tenantId, 'grace', fields)];
    // Past the time at which a start event is published.
    await eventually(async () =>
      expect(await harness.rows('select from chat.outbox where tenant_id = $1', [tenantId])).toHaveLength(2),
    );
    expect((await forget(tenantId, 'ursula')).counts['runs']).toBe(1n);
    expect(await rowsWith(tenantId, 'ursula')).toEqual([]);
    const [own, other] = await Promise.all(asked);
    expect(await own?.text()).toContain(secret);
    expect(await harness.endedRun(own?.headers.get('x-run-id') ?? null)).toMatchObject({
      status: 'ok',
      user_id: null,
      session_id: null,
      input_preview: null,
      output_preview: null,
      error_message: null,
      spans: [{ kind: 'llm', status: 'ok' }],
    });
    expect(await harness.endedRun(other?.headers.get('x-run-id') ?? null)).toMatchObject({
      user_id: 'grace',
      output_preview: secret,
    });
    expect(await rowsWith(tenantId, 'ursula')).toEqual([]);
  });

  /** Rows of each table with a user: how one is inserted, with the id `$1`, tenant `$2`, user `$3` and time `$4`. */
  const rowsOfUsers: Record<string, string> = {
    completions: `insert into chat.completions
      (call_id, tenant_id, user_id, created_at, claim_id, instance_id, fingerprint, answer, expires_at)
      values ($1, $2, $3, $4, $1, $1, '', '', now() + interval '1 day')`,
    responses: `insert into chat.responses (id, tenant_id, user_id, created_at, provider, content, bytes, days)
      values ($1, $2, $3, $4, 'sim', '', 0, 1)`,
    run_contents: `insert into chat.run_contents (id, tenant_id, user_id, created_at, content, bytes, expires_at)
      values ($1, $2, $3, $4, '', 0, now() + interval '1 day')`,
    thoughts: `insert into chat.thoughts (call_id, tenant_id, user_id, created_at, content, bytes)
      values ($1::uuid::text, $2, $3, $4, '', 0)`,
    seals: `insert into chat.seals (digest, tenant_id, user_id, created_at, maker)
      values (uuid_send($1::uuid), $2, $3, $4, 'sim')`,
    files: `insert into chat.files
      (id, tenant_id, user_id, created_at, purpose, provider, provider_file_id, content, expires_at)
      values ($1, $2, $3, $4, 'batch', 'none', 'f', '', now() + interval '1 day')`,
    batches: `insert into chat.batches (id, tenant_id, user_id, created_at, api_key_id, provider, input_file_id,
        provider_file_id, model, upstream_model, requests, reserved_input_tokens, reserved_tokens, reserved_pico, run,
        days, due_at, ended_at, expires_at)
      values ($1, $2, $3, $4, $1, 'none', $1, 'f', 'm', 'm', 1, 1, 1, 1, '{}', 1, now(), now(), now() + interval '1 day')`,
  };

  it('deletes what began before it from each table with users, however often it is repeated, and nothing later', async () => {
    const [tenantId, at] = [newId(), Date.now()];
    const tables = await harness.rows(
      `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
       where relnamespace = 'chat'::regnamespace and relkind = 'r' and attname = 'user_id'
         and relname <> 'user_deletions' order by relname`,
    );
    expect(tables.map(({ name }) => name)).toEqual(Object.keys(rowsOfUsers).toSorted());
    const insert = async (user: string, ms: number) => {
      for (const statement of Object.values(rowsOfUsers))
        await harness.rows(statement, [newId(), tenantId, user, new Date(ms)]);
    };
    await insert('ursula', at - 1);
    await insert('grace', at - 1);
    expect((await forget(tenantId, 'ursula', at)).counts).toMatchObject({
      ...{ completions: 1n, responses: 1n, contents: 1n, thoughts: 1n, seals: 1n, batches: 2n },
    });
    await insert('ursula', at + 1);
    const { counts } = await forget(tenantId, 'ursula', at);
    expect(Object.values(counts).filter((count) => count > 0n)).toEqual([]);
    for (const table of Object.keys(rowsOfUsers)) {
      const statement = `select user_id from chat.${table} where tenant_id = $1 and user_id is not null order by 1`;
      const users = (await harness.rows(statement, [tenantId])).map((row) => row['user_id']);
      expect([table, ...users]).toEqual([table, 'grace', 'ursula']);
    }
  });

  it('deletes contents of a user whose deletion a replica of an earlier release completed', async () => {
    const [tenantId, at] = [newId(), Date.now()];
    await forget(tenantId, 'ursula', at);
    const insert = rowsOfUsers['run_contents'] ?? '';
    for (const [user, ms] of [
      ['ursula', at - 1],
      ['ursula', at + 60_000],
      ['grace', at - 1],
    ] as const)
      await harness.rows(insert, [newId(), tenantId, user, new Date(ms)]);
    await sweepContents();
    const left = 'select user_id from chat.run_contents where tenant_id = $1 order by 1';
    expect(await harness.rows(left, [tenantId])).toEqual([{ user_id: 'grace' }, { user_id: 'ursula' }]);
  });

  it('leaves what the user did after the deletion', async () => {
    const tenantId = newId();
    const response = await ask(tenantId, 'ursula');
    expect((await forget(tenantId, 'ursula', Date.now() - 60_000)).counts['runs']).toBe(0n);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ user_id: 'ursula' });
  });

  it('removes stored completions, and stores none of a call that is in progress', async () => {
    const [tenantId, memory] = [newId(), await harness.peer('memory')];
    const assertion = await harness.identity.assertion({
      tenantId,
      tenantSlug: 'acme',
      userId: 'ursula',
    });
    const requestJson = JSON.stringify({ messages: [{ role: 'user', content: secret }] });
    const complete = (callId: string) =>
      memory.call('complete', { agent: 'extractor', callId, requestJson }, { deadlineMs: 5_000, assertion });
    const stored = () => harness.rows('select from chat.completions where tenant_id = $1', [tenantId]);
    await complete(newId());
    harness.simulator.setFault({ delay_ms: 500 });
    const late = complete(newId());
    await eventually(async () => expect(await stored()).toHaveLength(2));
    await eventually(async () =>
      expect(await harness.rows('select from chat.runs_under_way')).toHaveLength(1),
    );
    expect((await forget(tenantId, 'ursula')).counts).toEqual({
      completions: 2n,
      responses: 0n,
      contents: 0n,
      thoughts: 0n,
      seals: 0n,
      batches: 0n,
      runs: 2n,
    });
    expect(await harness.endedRun((await late).runId)).toMatchObject({ status: 'ok', user_id: null });
    expect(await stored()).toEqual([]);
  });

  it('removes dead letters of the user', async () => {
    const tenantId = newId();
    for (const user_id of ['ursula', 'grace']) {
      const data = JSON.stringify({ user_id, input_preview: secret });
      await harness.rows(
        `insert into chat.outbox_dead_letters (tenant_id, reason, entry) values ($1, 'test', $2)`,
        [tenantId, JSON.stringify({ tenant_id: tenantId, data })],
      );
    }
    await forget(tenantId, 'ursula');
    expect(await rowsWith(tenantId, secret)).toEqual(['outbox_dead_letters']);
    expect(await rowsWith(tenantId, 'ursula')).toEqual([]);
  });

  it('finds a run that was written late, by its tombstone, which is no name', async () => {
    const tenantId = newId();
    await forget(tenantId, 'ursula');
    const [instance] = await harness.rows('select id from chat.instances limit 1');
    const run = JSON.stringify({ tenant_id: tenantId, user_id: 'ursula', input_preview: secret });
    for (const age of [60, -60])
      await harness.rows(
        `insert into chat.open_runs (id, tenant_id, instance_id, started_at, run, attempts)
         values ($1, $2, $3, now() - make_interval(secs => $4), $5, '{}')`,
        [newId(), tenantId, instance?.['id'], age, run],
      );
    expect(await rowsWith(tenantId, 'ursula')).toHaveLength(2);
    await sweep();
    expect(await rowsWith(tenantId, 'ursula')).toHaveLength(1);
    await harness.rows('delete from chat.open_runs where tenant_id = $1', [tenantId]);
  });

  it('is complete once no late run can come, and begins anew with another deletion', async () => {
    const [tenantId, at] = [newId(), Date.now()];
    expect((await forget(tenantId, 'ursula', at)).completed).toBe(false);
    await eventually(async () => expect((await forget(tenantId, 'ursula', at)).completed).toBe(true));
    expect((await forget(tenantId, 'ursula')).completed).toBe(false);
  });

  it('is remembered for 30 days', async () => {
    await forget(newId(), 'ursula');
    const stones = () => harness.rows('select from chat.forgotten_users');
    await harness.rows(`update chat.forgotten_users set created_at = now() - interval '29 days'`);
    await sweep();
    expect(await stones()).not.toEqual([]);
    await harness.rows(`update chat.forgotten_users set created_at = now() - interval '31 days'`);
    await sweep();
    expect(await stones()).toEqual([]);
  });

  it('takes a time in the future for now', async () => {
    const [tenantId, at] = [newId(), Date.now() + 3_600_000];
    await forget(tenantId, 'ursula', at);
    const response = await ask(tenantId, 'ursula');
    expect((await forget(tenantId, 'ursula', at)).counts['runs']).toBe(0n);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ user_id: 'ursula' });
  });

  it('is for the tenant service only, and needs a tenant and a user', async () => {
    for (const caller of ['agent', 'memory', 'analytics', 'edge']) {
      const request = { tenantId: newId(), userId: 'ursula', deletionId: newId(), requestedAtMs: 1n };
      const call = (await harness.participant(caller)).call('forgetUser', request, { deadlineMs: 2_000 });
      await expect(call).rejects.toMatchObject({ code: 'caller_not_allowed' });
    }
    await expect(forget('x', 'ursula')).rejects.toMatchObject({ code: 'invalid_value' });
    await expect(forget(newId(), '')).rejects.toMatchObject({ code: 'invalid_value' });
  });
});
