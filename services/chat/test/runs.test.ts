import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { valueOf } from '@gatehouse/test/exposition';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { chat, ChatHarness } from './chat-harness.ts';
import { reap } from './reap.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

async function complete(body: unknown): Promise<Response> {
  return harness.post('/v1/chat/completions', body);
}

describe('a run that another instance has ended as interrupted', () => {
  it('is corrected by its exact end, and only by that', async () => {
    const pool = createPool({
      url: harness.database.url,
      role: 'chat_system',
      max: 2,
      log: createLogger('test', 'silent'),
    });
    try {
      const id = newId();
      const fields = { stream: true, x_simulator: { id, chunks: 5, chunk_delay_ms: 500 } };
      const pending = complete(chat('not dead', fields));
      await harness.simulator.waitForRequest((request) => request.id === id);
      const [row] = await harness.rows('select id, instance_id from chat.runs_under_way');
      await reap(pool, String(row?.['instance_id']));
      expect(await (await pending).text()).toContain('[DONE]');
      const ends = await harness.rows(
        `select corrects, data::json ->> 'status' as status, (data::json ->> 'usage_estimated')::boolean as estimated,
                (data::json ->> 'output_tokens')::integer as output
         from chat.outbox where run_id = $1 and ended_at is not null order by id`,
        [row?.['id']],
      );
      expect(ends).toEqual([
        { corrects: false, status: 'interrupted', estimated: true, output: 0 },
        { corrects: true, status: 'ok', estimated: false, output: 5 },
      ]);
      expect(valueOf(await harness.metrics(), 'gatehouse_runs_corrected_total')).toBe(1);
      expect((await complete(chat('goes on'))).status).toBe(200);
    } finally {
      await pool.end();
    }
  });

  it('does not end a second time if its estimated end cannot be corrected any more', async () => {
    const id = newId();
    const pending = complete(chat('paused', { x_simulator: { id, delay_ms: 400 } }));
    await harness.simulator.waitForRequest((request) => request.id === id);
    const [row] = await harness.rows(
      `select id, instance_id from chat.runs_under_way where run::json ->> 'input_preview' = 'paused'`,
    );
    await harness.rows('update chat.instances set dead_at = now(), log_taken_at = now() where id = $1', [
      row?.['instance_id'],
    ]);
    await harness.rows('delete from chat.run_log where instance_id = $1', [row?.['instance_id']]);
    const response = await pending;
    expect(response.status).toBe(200);
    await response.text();
    expect(response.headers.get('x-run-id')).toBe(row?.['id']);
    expect(await harness.endedRuns('run_id = $1', [row?.['id']])).toEqual([]);
  });
});

describe('an instance that was declared dead', () => {
  it('starts nothing under its old name, registers anew and serves on', async () => {
    await harness.rows('update chat.instances set dead_at = now() where dead_at is null');
    const id = newId();
    const pending = complete(chat('reborn', { x_simulator: { id, delay_ms: 400 } }));
    await harness.simulator.waitForRequest((request) => request.id === id);
    const instances = await harness.rows(
      `select dead_at from chat.instances where id in (select instance_id from chat.runs_under_way)`,
    );
    expect(instances).toEqual([{ dead_at: null }]);
    expect((await pending).status).toBe(200);
  });
});

describe('while the database is away', () => {
  it('a new request is a 503 and never reaches the provider; one under way is answered, and its end is kept and committed later', async () => {
    const id = newId();
    const pending = complete(chat('under way', { x_simulator: { id, delay_ms: 500 } }));
    await harness.simulator.waitForRequest((request) => request.id === id);
    await harness.proxy.cut();
    const refusedAs = newId();
    const refused = await complete(chat('refused', { x_simulator: { id: refusedAs } }));
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      error: { type: 'unavailable_error', code: 'database_unavailable' },
    });
    expect(harness.simulator.requests.some((request) => request.id === refusedAs)).toBe(false);
    await eventually(async () => {
      expect(valueOf(await harness.metrics(), 'gatehouse_run_ends_waiting')).toBe(1);
    });
    await harness.proxy.open();
    const answered = await pending;
    expect(answered.status).toBe(200);
    expect(await harness.endedRun(answered.headers.get('x-run-id'))).toMatchObject({ status: 'ok' });
    expect(await harness.endedRuns('run_id = $1', [answered.headers.get('x-run-id')])).toHaveLength(1);
    expect((await complete(chat('back again'))).status).toBe(200);
  });
});

describe('a hundred requests at once', () => {
  it('are recorded as a hundred runs, each with one event of its end', async () => {
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => complete(chat(`many ${index}`))),
    );
    const ids = responses.map((response) => response.headers.get('x-run-id'));
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) await harness.endedRun(id);
    const [count] = await harness.rows(
      `select count(*)::int as events, count(distinct run_id)::int as runs
       from chat.outbox where run_id = any ($1) and ended_at is not null`,
      [ids],
    );
    expect(count).toEqual({ events: 100, runs: 100 });
  });
});

describe('the schema', () => {
  it('has row-level security with explicit policies on every table', async () => {
    expect(await tablesWithoutPolicies(harness.database.adminUrl, 'chat')).toEqual([]);
  });
});
