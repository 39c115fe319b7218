import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { createTestDatabase } from '@gatehouse/test/database';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { openPool } from '@gatehouse/test/query';
import { findItems, readContents } from '../src/stored-responses/stored-response-row-store.ts';
import { ChatHarness } from './chat-harness.ts';
import { answerOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Statements of one tenant's requests, beside those of others and the run log. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0, api_key_env: 'UNUSED' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [{ name: 'simulator', ...openai }],
      models: [{ id: 'gpt', provider: 'simulator', api: 'responses' }],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type As = Partial<Principal>;

async function call(method: string, path: string, principal: As): Promise<Response> {
  const assertion = await harness.identity.assertion(makePrincipal(principal));
  const headers = { 'x-gatehouse-assertion': assertion, 'x-gatehouse-dialect': 'responses' };
  return fetch(`${harness.url}/v1/responses/${path}`, { method, headers });
}

async function made(principal: As, input: unknown = 'hi'): Promise<string> {
  provider.answer(whole(answerOf([messageItem('Hello.')])));
  const headers = { 'x-gatehouse-dialect': 'responses' };
  const response = await harness.post('/v1/responses', { model: 'gpt', input }, { principal, headers });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

describe('statements of a tenant that take long', () => {
  it('leave connections for the reads and the runs of others', async () => {
    const slow = { tenantId: newId(), userId: 'ann' };
    const other = { tenantId: newId(), userId: 'bob' };
    const [locked, read] = [await made(slow), await made(other)];
    const admin = openPool(harness.database.adminUrl);
    const client = await admin.connect();
    const waiting = async (): Promise<number> => {
      const { rows } = await admin.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0]?.count ?? 0;
    };
    try {
      await client.query('begin');
      await client.query('select from chat.responses where tenant_id = $1 for update', [slow.tenantId]);
      let ended = 0;
      const deletions = Array.from({ length: 20 }, () =>
        call('DELETE', locked, slow).finally(() => {
          ended += 1;
        }),
      );
      // All connections but one of the pool.
      await eventually(async () => expect(await waiting()).toBe(2));
      expect((await call('GET', read, other)).status).toBe(200);
      await made(other);
      expect([ended, await waiting()]).toEqual([0, 2]);
      await client.query('rollback');
      const statuses = (await Promise.all(deletions)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array<number>(19).fill(404)]);
    } finally {
      client.release();
      await admin.end();
    }
  });
});

describe('the input items of a response', () => {
  it('come in pages of at most 2 MiB, and a larger item by itself', async () => {
    const principal = { tenantId: newId(), userId: 'ann' };
    const text = (size: number, id: string): Fields => ({
      ...{ type: 'message', role: 'user', content: id.padEnd(size, '.'), id },
    });
    const mib = 1024 * 1024;
    const sizes = [0.9 * mib, 0.9 * mib, 0.9 * mib, 2.5 * mib, 10];
    const id = await made(
      principal,
      sizes.map((size, place) => text(size, `msg_${place}`)),
    );
    const pages: string[][] = [];
    for (let after = '', more = true; more;) {
      const answer = await call('GET', `${id}/input_items?limit=100&order=asc${after}`, principal);
      expect(answer.status).toBe(200);
      const page = (await answer.json()) as { data: { id: string }[]; last_id: string; has_more: boolean };
      pages.push(page.data.map((item) => item.id));
      after = `&after=${page.last_id}`;
      more = page.has_more;
    }
    expect(pages).toEqual([['msg_0', 'msg_1'], ['msg_2'], ['msg_3'], ['msg_4']]);
  });

  it('need not be read for an attempt to cancel it', async () => {
    const principal = { tenantId: newId(), userId: 'ann' };
    const id = await made(principal);
    const admin = openPool(harness.database.adminUrl);
    try {
      // Nothing could open it.
      await admin.query(`update chat.responses set content = '' where tenant_id = $1`, [principal.tenantId]);
      expect((await call('GET', id, principal)).status).toBe(500);
      expect((await call('POST', `${id}/cancel`, principal)).status).toBe(400);
      expect((await call('POST', `${id}/cancel`, { ...principal, userId: 'bob' })).status).toBe(404);
    } finally {
      await admin.end();
    }
  });
});

describe('items that many responses have', () => {
  it('are found with one look-up each', async () => {
    const database = await createTestDatabase('chat');
    const log = createLogger('chat', 'silent');
    const [pool, admin] = [
      createPool({ url: database.url, role: 'chat_app', max: 1, log }),
      openPool(database.adminUrl),
    ];
    try {
      const [tenantId, responses, keys] = [newId(), Array.from({ length: 300 }, () => newId()), [1n, 2n, 3n]];
      await admin.query(
        `with made as (
           insert into chat.responses (id, tenant_id, provider, content, bytes, days, ready)
           select id, $1, 'simulator', '', 0, 30, true from unnest($2::uuid[]) as id returning id, tenant_id)
         insert into chat.response_items (response_id, tenant_id, item_key)
         select id, tenant_id, item_key from made cross join unnest($3::bigint[]) as item_key`,
        [tenantId, responses, keys],
      );
      const lookUps = async (): Promise<number> => {
        await pool.query('select pg_stat_force_next_flush()');
        const { rows } = await pool.query<{ scans: number }>(
          `select idx_scan::integer as scans from pg_stat_all_tables where relid = 'chat.responses'::regclass`,
        );
        return rows[0]?.scans ?? 0;
      };
      const newest = responses.toSorted().at(-1);
      const before = await lookUps();
      const found = await findItems(pool, keys, { tenantId, userId: null, days: 30 });
      expect([...found.values()].map(({ id }) => id)).toEqual(keys.map(() => newest));
      expect((await lookUps()) - before).toBe(keys.length);
    } finally {
      await Promise.all([pool.end(), admin.end()]);
      await database.drop();
    }
  });
});

it('contents of responses are read a page of 2 MiB at a time, whatever their sizes', async () => {
  const database = await createTestDatabase('chat');
  const log = createLogger('chat', 'silent');
  const [pool, admin] = [
    createPool({ url: database.url, role: 'chat_app', max: 1, log }),
    openPool(database.adminUrl),
  ];
  const read: number[] = [];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...input: unknown[]) => Promise<{ rows?: Fields[] }>;
    Object.assign(client, {
      query: async (...input: unknown[]) => {
        const result = await query(...input);
        const values = (result.rows ?? []).flatMap((row) => Object.values(row));
        read.push(values.reduce<number>((sum, each) => sum + (Buffer.isBuffer(each) ? each.length : 0), 0));
        return result;
      },
    });
  });
  try {
    const [tenantId, mib] = [newId(), 1024 * 1024];
    const rows = [0.5, 1, 1, 5, 0.1].map((size) => ({
      id: newId(),
      bytes: size * mib,
      provider: 'simulator',
    }));
    await admin.query(
      `insert into chat.responses (id, tenant_id, provider, content, bytes, days, ready)
       select id, $1, 'simulator', convert_to(repeat('x', bytes), 'UTF8'), bytes, 30, true
       from unnest($2::uuid[], $3::integer[]) as rows (id, bytes)`,
      [tenantId, rows.map(({ id }) => id), rows.map(({ bytes }) => Math.floor(bytes))],
    );
    const sizes: (number | undefined)[] = [];
    for await (const [, content] of readContents(pool, tenantId, rows)) sizes.push(content?.length);
    expect(sizes).toEqual(rows.map(({ bytes }) => Math.floor(bytes)));
    expect(Math.max(...read)).toBe(2 * mib);
  } finally {
    await Promise.all([pool.end(), admin.end()]);
    await database.drop();
  }
});
