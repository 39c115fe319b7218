import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NewAuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';
import { readAuditEvent } from './audit-event.ts';
import { partitionCount, partitionOf } from './partitions.ts';
import { AuditOutbox } from './store/audit-outbox-store.ts';

const outbox = new AuditOutbox('agent');
const allPartitions = Array.from({ length: partitionCount }, (_, partition) => partition);
const tenantId = newId();

let database: TestDatabase;
let app: Pool;
let system: Pool;

beforeAll(async () => {
  database = await createTestDatabase('agent');
  const log = createLogger('test', 'silent');
  app = createPool({ url: database.url, role: 'agent_app', max: 1, log });
  system = createPool({ url: database.url, role: 'agent_system', max: 1, log });
});
afterAll(async () => {
  for (const pool of [app, system]) await pool.end();
  await database.drop();
});

function makeEntry(bytes = 0): NewAuditEntry {
  return {
    id: newId(),
    action: 'agent.created',
    actor: { key_id: newId(), role: 'admin', user_id: null },
    tenant_id: tenantId,
    resource: { type: 'agent', id: newId() },
    client_ip: null,
    request_id: 'request-1',
    before: null,
    after: { nul: '\u0000', bulk: 'x'.repeat(bytes) },
  };
}

const add = (entries: NewAuditEntry[]) =>
  withTenant(app, tenantId, async (db) => {
    for (const entry of entries) await outbox.add(db, entry);
    const { rows } = await db.query<{ now: Date }>('select now()');
    return rows[0]?.now;
  });

/** Reads and removes until the outbox is empty; returns the events of each read. */
async function drain(): Promise<string[][]> {
  const turns: string[][] = [];
  for (;;) {
    const { entries } = await outbox.read(system, allPartitions, { rows: 500, bytes: 500_000 });
    if (entries.length === 0) return turns;
    turns.push(entries.map(({ json }) => json ?? ''));
    await outbox.remove(
      system,
      entries.map(({ id }) => id),
    );
  }
}

describe('an outbox of changes', () => {
  it('gives them out in their order, with the time of their transaction', async () => {
    const entries = Array.from({ length: 5 }, () => makeEntry());
    const at = (await add(entries))?.toISOString();
    const [turn = []] = await drain();
    expect(turn.map((json) => readAuditEvent(json))).toEqual(entries.map((entry) => ({ ...entry, at })));
  });

  it('gives out no more at once than a broker takes, and every entry', async () => {
    // The largest possible entry: two views of sixteen members of 8 KiB.
    const entries = Array.from({ length: 12 }, () => makeEntry(260_000));
    await add(entries);
    const turns = await drain();
    expect(turns.flat()).toHaveLength(entries.length);
    for (const turn of turns) expect(Buffer.byteLength(turn.join(''))).toBeLessThan(1_000_000);
    expect(turns.length).toBeLessThan(entries.length);
  });

  it('gives out one partition and leaves the others', async () => {
    const [entry] = [makeEntry()];
    await add([entry]);
    const own = partitionOf(tenantId);
    const others = allPartitions.filter((partition) => partition !== own);
    const limits = { rows: 10, bytes: 500_000 };
    expect(await outbox.read(system, others, limits)).toEqual({ entries: [], full: false });
    expect(await outbox.read(system, [own], limits)).toMatchObject({
      entries: [{ partition: own, key: tenantId }],
      full: false,
    });
    await drain();
  });

  it('passes over rows of other partitions without reading them', async () => {
    const [own, crowded] = [partitionOf(tenantId), (partitionOf(tenantId) + 1) % partitionCount];
    const wanted = allPartitions.filter((partition) => partition !== crowded);
    const limits = { rows: 500, bytes: 500_000 };
    const client = await system.connect();
    try {
      // Cached plans that were made for an empty table are reused.
      for (let turn = 0; turn < 10; turn += 1) await outbox.read(client, wanted, limits);
      await query(
        database.adminUrl,
        `insert into agent.audit_outbox (partition, entry) select ${crowded}, '{}' from generate_series(1, 20000)`,
      );
      await add([makeEntry()]);
      await client.query('begin');
      const { entries } = await outbox.read(client, wanted, limits);
      const age = await outbox.ageSeconds(client, wanted);
      const { rows } = await client.query<{ read: number }>(
        `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
         where relid = 'agent.audit_outbox'::regclass`,
      );
      await client.query('commit');
      expect(entries.map(({ partition }) => partition)).toEqual([own]);
      expect(age).toBeGreaterThan(0);
      expect(rows[0]?.read).toBeLessThan(1_000);
    } finally {
      client.release();
    }
  });
});
