import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { Probe } from '../test/probe.ts';
import { deleteOldRows } from './clean-up-store.ts';
import { createPool } from './pool.ts';
import { Store } from './store.ts';

interface Note {
  id: string;
  text: string;
}

class Notes extends Store {
  add(tenantId: string, { id, text }: Note): Promise<Note> {
    return this.tenant(tenantId).one(
      'insert into probe.notes (id, tenant_id, text) values ($1, $2, $3) returning id, text',
      [id, tenantId, text],
    );
  }

  find(tenantId: string, id: string): Promise<Note | null> {
    return this.tenant(tenantId).first('select id, text from probe.notes where id = $1', [id]);
  }

  list(tenantId: string): Promise<Note[]> {
    const text = 'select id, text from probe.notes where tenant_id = $1 order by text';
    return this.tenant(tenantId).all({ name: 'list_notes', text, values: [tenantId] });
  }

  count(tenantId: string): Promise<number> {
    return this.tenant(tenantId).count('select from probe.notes');
  }

  has(tenantId: string, text: string): Promise<boolean> {
    return this.tenant(tenantId).exists('select from probe.notes where text = $1', [text]);
  }
}

let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(() => probe.stop());

it('a store has the rows of a tenant in a line a statement', async () => {
  const notes = new Notes(probe.pool);
  const [tenantId, other] = [newId(), newId()];
  const note = { id: newId(), text: 'a' };
  expect(await notes.add(tenantId, note)).toEqual(note);
  await notes.add(tenantId, { id: newId(), text: 'b' });
  expect(await notes.find(tenantId, note.id)).toEqual(note);
  expect(await notes.find(other, note.id)).toBeNull();
  expect((await notes.list(tenantId)).map(({ text }) => text)).toEqual(['a', 'b']);
  expect([await notes.count(tenantId), await notes.count(other)]).toEqual([2, 0]);
  expect([await notes.has(tenantId, 'b'), await notes.has(other, 'b')]).toEqual([true, false]);
  await expect(notes.add(tenantId, note)).rejects.toThrow('duplicate key');
  await expect(probe.pool.one('select 1 where false')).rejects.toThrow('returned 0 rows, not one');
});

it('old rows are deleted in batches, oldest first, without those that others have locked', async () => {
  await probe.asAdmin(
    `create table probe.tokens (id text primary key, expires_at timestamptz not null);
     grant select, update, delete on probe.tokens to probe_system;
     insert into probe.tokens select 'token ' || n, now() - n * interval '1 hour' from generate_series(-1, 3) as n`,
  );
  const log = createLogger('test', 'silent');
  const system = createPool({ url: probe.url, role: 'probe_system', max: 1, log });
  const left = () => probe.asAdmin<{ id: string }>('select id from probe.tokens order by id');
  const rows = { table: 'probe.tokens', where: 'expires_at < now()', order: 'expires_at' };
  const client = await probe.connect();
  try {
    await client.query(`begin; select from probe.tokens where id = 'token 2' for update`);
    expect(await deleteOldRows(system, { ...rows, skipLocked: true }, 1)).toBe(1);
    expect(await left()).toEqual([-1, 0, 1, 2].map((n) => ({ id: `token ${n}` })));
    expect(await deleteOldRows(system, { ...rows, skipLocked: true })).toBe(2);
    await client.query('rollback');
    expect(await deleteOldRows(system, { ...rows, key: 'id' })).toBe(1);
    expect(await left()).toEqual([{ id: 'token -1' }]);
  } finally {
    await client.end();
    await system.end();
  }
});
