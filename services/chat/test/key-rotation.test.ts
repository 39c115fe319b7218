import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { query } from '@gatehouse/test/query';
import { testRewrapJob } from '@gatehouse/test/rewrap-job';
import { contextOfObject } from '../src/batches/sealed-object.ts';
import { contextOfResponse } from '../src/stored-responses/response-id.ts';
import { sealedColumns } from '../src/sealed-columns.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

let database: SystemDatabase;
beforeEach(async () => {
  database = await createSystemDatabase();
});
afterEach(() => database.drop());

const [old, fresh] = ['old', 'fresh'].map((id) => `${id}:${randomBytes(32).toString('base64')}`);

const statements = {
  responses: `insert into chat.responses (id, tenant_id, user_id, provider, content, bytes, days)
    values ($1, $2, 'ann', 'p', $3, 1, 30)`,
  files: `insert into chat.files (id, tenant_id, user_id, purpose, provider, content, expires_at)
    values ($1, $2, 'ann', 'batch', 'p', $3, now() + interval '30 days')`,
  batches: `insert into chat.batches (id, tenant_id, user_id, api_key_id, provider, input_file_id, provider_file_id, model,
      upstream_model, requests, reserved_input_tokens, reserved_tokens, reserved_pico, run, days, due_at, content, first_id)
    values ($1, $2, 'ann', $1, 'p', $1, 'f', 'm', 'm', 1, 1, 1, 1, '{}', 30, now(), $3, $3)`,
} as const;

it('wraps the keys of responses, files and batches again, so that an old key of the ring can go', async () => {
  const tenantId = newId();
  const before = KeyRing.parse(String(old));
  const both = KeyRing.parse(`${fresh},${old}`);
  const after = KeyRing.parse(String(fresh));
  const plain = randomBytes(300_000);
  const rows = (Object.keys(statements) as (keyof typeof statements)[]).map((table) => {
    const id = newId();
    const context =
      table === 'responses'
        ? contextOfResponse(id, { tenantId, userId: 'ann' })
        : contextOfObject({ id, tenantId });
    return { table, id, context };
  });
  for (const { table, id, context } of rows)
    await database.pool.query(statements[table], [id, tenantId, before.seal(plain, context)]);
  // A hidden upload has no content yet, and a value of another tenant's row can't be opened.
  await database.pool.query(statements.files, [newId(), tenantId, Buffer.alloc(0)]);
  const [{ context: foreign } = { context: '' }] = rows;
  await database.pool.query(statements.files, [newId(), tenantId, before.seal(plain, foreign)]);

  const of = { service: 'chat', columns: sealedColumns, system: database.pool };
  const { left, rewrapAll } = testRewrapJob({ ...of, keyRing: both });
  expect(await left()).toEqual({ responses: 1, files: 2, batches: 2 });
  await rewrapAll();
  expect(await left()).toEqual({ files: 1 });
  for (const { table, id, context } of rows) {
    const columns = table === 'batches' ? ['content', 'first_id'] : ['content'];
    for (const column of columns) {
      const found = await database.pool.query<{ sealed: Buffer }>(
        `select ${column} as sealed from chat.${table} where id = $1`,
        [id],
      );
      expect(after.open(found.rows[0]?.sealed ?? Buffer.alloc(0), context).equals(plain)).toBe(true);
    }
  }
});

it('passes over values that it can’t open or replace, and wraps those behind them', async () => {
  const tenantId = newId();
  const [before, both] = [KeyRing.parse(String(old)), KeyRing.parse(`${fresh},${old}`)];
  const seal = (context: string): Buffer => before.seal(Buffer.from('x'), context);
  const store = async (table: keyof typeof statements, context?: string): Promise<string> => {
    const id = newId();
    const right =
      table === 'responses'
        ? contextOfResponse(id, { tenantId, userId: 'ann' })
        : contextOfObject({ id, tenantId });
    await database.pool.query(statements[table], [id, tenantId, seal(context ?? right)]);
    return id;
  };
  // The search of a column finds a hundred values at a time, in this order.
  const stuck = await store('responses');
  await store('responses');
  for (let row = 0; row < 150; row += 1) await store('files', 'another row');
  await store('files');
  const batch = await store('batches', 'another row');
  const firstId = seal(contextOfObject({ id: batch, tenantId }));
  await database.pool.query('update chat.batches set first_id = $2 where id = $1', [batch, firstId]);
  await query(
    database.adminUrl,
    `create function chat.refuse() returns trigger language plpgsql as $$ begin raise 'stuck'; end $$;
     create trigger refuse before update on chat.responses for each row when (old.id = '${stuck}')
       execute function chat.refuse()`,
  );

  const of = { service: 'chat', columns: sealedColumns, system: database.pool };
  const { left, rewrapAll } = testRewrapJob({ ...of, keyRing: both });
  expect(await left()).toEqual({ responses: 2, files: 151, batches: 2 });
  await rewrapAll();
  expect(await left()).toEqual({ responses: 1, files: 150, batches: 1 });
  await query(database.adminUrl, 'drop trigger refuse on chat.responses');
  await rewrapAll();
  expect(await left()).toEqual({ files: 150, batches: 1 });
});
