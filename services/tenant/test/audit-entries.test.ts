import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { Client } from 'pg';
import { AuditLogSystemStore, insertEntry } from '../src/audit/audit-log-system-store.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase('tenant');
  const log = createLogger('test', 'silent');
  pool = createPool({ url: database.url, role: 'tenant_system', max: 1, log });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

function newEntry(): NewAuditEntry {
  return {
    id: newId(),
    action: 'agent.updated',
    actor: { key_id: null, role: 'admin', user_id: null },
    tenant_id: newId(),
    resource: { type: 'agent', id: newId() },
    client_ip: null,
    request_id: null,
    before: null,
    after: { name: 'After' },
  };
}

/** The months of the log that the transaction of `db` has read or written: a statement locks those that it plans to use. */
async function touched(db: Queryable): Promise<number> {
  const { rows } = await db.query(
    `select relation from pg_locks join pg_inherits on inhrelid = relation
     where inhparent = 'tenant.audit_log'::regclass and pid = pg_backend_pid()`,
  );
  return rows.length;
}

async function stored(id: string): Promise<number> {
  return (await pool.query('select id from tenant.audit_log where id = $1', [id])).rows.length;
}

describe('an entry of the audit log', () => {
  it('is written to the partition of its month, and no other is looked at', async () => {
    const partitions = await withTransaction(pool, async (db) => {
      await db.query('select id from tenant.audit_log where id = $1', [newId()]);
      return touched(db);
    });
    expect(partitions).toBeGreaterThan(3);
    const used = await withTransaction(pool, async (db) => {
      await insertEntry(db, newEntry());
      return touched(db);
    });
    expect(used).toBe(1);
  });

  it('that comes as an event is stored once, also if this service has written it', async () => {
    const store = new AuditLogSystemStore(pool);
    const entry = newEntry();
    const at = await withTransaction(pool, async (db) => {
      await insertEntry(db, entry);
      const { rows } = await db.query<{ at: Date }>('select now() as at');
      return rows[0]?.at.toISOString() ?? '';
    });
    const foreign: AuditEntry = { ...newEntry(), at: '2026-01-31T23:59:59.999Z' };
    for (const event of [{ ...entry, at }, foreign, foreign]) await store.takeIn([event, event]);
    expect([await stored(entry.id), await stored(foreign.id)]).toEqual([1, 1]);
  });

  it('that comes as an event is looked for in its own month', async () => {
    // Far from the ends of the month, since the time may be some more or less.
    const at = new Date(new Date().setUTCDate(15));
    const months = await pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'tenant.audit_log'::regclass`,
    );
    const own = `audit_log_${at.toISOString().slice(0, 7).replace('-', '_')}`;
    const others = months.rows.filter(({ name }) => !name.endsWith(own)).map(({ name }) => name);
    expect(others).toHaveLength(months.rows.length - 1);
    const locking = new Client(database.adminUrl);
    await locking.connect();
    // A statement that uses one of them times out.
    await locking.query(`begin; lock table only ${others.join(', ')} in access exclusive mode`);
    try {
      const event: AuditEntry = { ...newEntry(), at: at.toISOString() };
      const store = new AuditLogSystemStore(pool);
      await store.takeIn([event]);
      await store.takeIn([event]);
    } finally {
      await locking.end();
    }
  });
});
