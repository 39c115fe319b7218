import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { decodeCursor, encodeCursor, type Position } from '../src/traces/trace-cursor.ts';
import type { UsageConsumer } from '../src/ingest/usage-consumer.ts';
import { TracePgStore } from '../src/traces/trace-pg-store.ts';
import type { TraceStore } from '../src/traces/trace-store.ts';
import { describeStores, postgres, type Engine } from './describe-stores.ts';
import { makeEnd, makeStart, received } from './event-fixture.ts';
import { startIngest, type IngestFixture } from './ingest-fixture.ts';

const noFilter = {
  agentId: null,
  sessionId: null,
  user: null,
  status: null,
  channel: null,
  traceId: null,
  spans: false,
};

let fixture: IngestFixture;
let ingest: UsageConsumer;
let traces: TraceStore;
function openWith(engine: Engine): void {
  beforeAll(async () => {
    fixture = await startIngest(engine);
    ({ ingest } = fixture);
    traces = fixture.stores.traces;
  });
  afterAll(() => fixture.stop());
}

/** All changes after a position, page by page, as `id status`, and where it ends. */
async function readAll(
  tenant: string,
  from: Position | Date,
  limit: number,
): Promise<{ seen: string[]; position: Position }> {
  const seen: string[] = [];
  let at: Position | Date = from;
  for (;;) {
    const page = await traces.changes(tenant, () => at, { ...noFilter, limit });
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    seen.push(...page.rows.map(({ id, status }) => `${id} ${status}`));
    at = page.position;
    if (!page.hasMore) return { seen, position: page.position };
  }
}

/**
 * Waits until nothing older runs on the server any more. Other tests' transactions hold back what is shown, as those
 * of any database of the server do.
 */
async function settled(): Promise<void> {
  const { rows } = await fixture.writing.query<{ id: string }>('select pg_current_xact_id()::text as id');
  await eventually(async () => {
    const over = await fixture.writing.query<{ over: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 as over',
      [rows[0]?.id],
    );
    expect(over.rows[0]?.over).toBe(true);
  });
}

const anHourAgo = (): Date => new Date(Date.now() - 3_600_000);

describeStores('following traces', (engine) => {
  openWith(engine);

  it('shows every change of one large transaction once, in pages of any size', async () => {
    const tenant = newId();
    const ends = Array.from({ length: 120 }, () => makeEnd({ tenant_id: tenant }));
    await ingest.take(ends.map((end) => received(end)));
    await settled();
    // A batch is written in the order of its ids.
    const wanted = ends.map(({ run_id: id }) => `${id} ok`).sort();
    for (const limit of [1, 7, 50, 200]) {
      const { seen } = await readAll(tenant, anHourAgo(), limit);
      expect(seen).toEqual(wanted);
    }
  });

  it('shows a run again when it has ended, and never the other way round', async () => {
    const tenant = newId();
    const start = makeStart({ tenant_id: tenant });
    await ingest.take([received(start)]);
    await settled();
    const first = await readAll(tenant, anHourAgo(), 7);
    expect(first.seen).toEqual([`${start.run_id} running`]);
    await ingest.take([received(makeEnd({ ...start, status: 'error' }))]);
    await ingest.take([received(start)]);
    await settled();
    const second = await readAll(tenant, first.position, 7);
    expect(second.seen).toEqual([`${start.run_id} error`]);
    expect((await readAll(tenant, second.position, 7)).seen).toEqual([]);
    expect((await readAll(tenant, anHourAgo(), 7)).seen).toEqual([`${start.run_id} error`]);
  });

  it('shows a tenant nothing of another', async () => {
    await ingest.take([received(makeEnd())]);
    expect((await readAll(newId(), anHourAgo(), 7)).seen).toEqual([]);
  });
});

describe('following traces by transactions', () => {
  openWith(postgres);

  it('waits with what came after a transaction that is still under way, and then shows both', async () => {
    const tenant = newId();
    const [slow, quick] = [makeEnd({ tenant_id: tenant }), makeEnd({ tenant_id: tenant })];
    const client = new Client({ connectionString: fixture.database.adminUrl });
    await client.connect();
    try {
      await ingest.take([received(slow)]);
      await settled();
      const { position } = await readAll(tenant, anHourAgo(), 7);
      // A concurrent writer that has its transaction id and has not committed.
      await client.query('begin');
      await client.query(
        `update analytics.traces set change_transaction = pg_current_xact_id(),
              change_number = nextval('analytics.changes') where id = $1`,
        [slow.run_id],
      );
      await ingest.take([received(quick)]);
      const during = await readAll(tenant, position, 7);
      expect(during.seen).toEqual([]);
      await client.query('commit');
      await settled();
      const after = await readAll(tenant, during.position, 7);
      expect(after.seen.toSorted()).toEqual([`${slow.run_id} ok`, `${quick.run_id} ok`].sort());
    } finally {
      await client.end();
    }
  });

  it('gives a cursor that is valid while a running transaction hides all changes', async () => {
    const tenant = newId();
    const scope = { cluster: '1', filters: {} };
    const client = new Client({ connectionString: fixture.database.adminUrl });
    await client.connect();
    try {
      await client.query('begin; select pg_current_xact_id()');
      await ingest.take([received(makeEnd({ tenant_id: tenant }))]);
      const hidden = await readAll(tenant, new Date(0), 10);
      expect(hidden.seen).toEqual([]);
      await client.query('rollback');
      const position = decodeCursor(encodeCursor(hidden.position, scope), scope);
      await settled();
      expect((await readAll(tenant, position, 10)).seen).toHaveLength(1);
    } finally {
      await client.end();
    }
  });

  it('looks at a limited number of changes for a page, and says where to go on', async () => {
    const tenant = newId();
    const wanted = makeEnd({ tenant_id: tenant, session_id: 'rare' });
    const others = Array.from({ length: 35 }, () => makeEnd({ tenant_id: tenant, session_id: 'common' }));
    await ingest.take(others.slice(0, 30).map((end) => received(end)));
    await ingest.take([received(wanted)]);
    await ingest.take(others.slice(30).map((end) => received(end)));
    await settled();
    const limited = new TracePgStore(fixture.reading, 10);
    const pages: { found: string[]; hasMore: boolean }[] = [];
    let at: Position | Date = anHourAgo();
    for (let more = true; more;) {
      const from: Position | Date = at;
      const page = await limited.changes(tenant, () => from, { ...noFilter, sessionId: 'rare', limit: 5 });
      pages.push({ found: page.rows.map(({ id }) => id), hasMore: page.hasMore });
      ({ position: at, hasMore: more } = page);
    }
    expect(pages).toEqual([
      { found: [], hasMore: true },
      { found: [], hasMore: true },
      { found: [], hasMore: true },
      { found: [wanted.run_id], hasMore: false },
    ]);
  });

  it('shows runs that a restore gave the first transaction', async () => {
    const tenant = newId();
    const [old, restored] = [makeEnd({ tenant_id: tenant }), makeEnd({ tenant_id: tenant })];
    await ingest.take([received(old)]);
    await ingest.take([received(restored)]);
    const client = new Client({ connectionString: fixture.database.adminUrl });
    await client.connect();
    await client.query(
      `update analytics.traces set changed_at = now() - case id when $1 then interval '20 minutes' else '5 minutes' end,
            change_transaction = case id when $1 then change_transaction else '3' end
     where tenant_id = $2`,
      [old.run_id, tenant],
    );
    await client.end();
    await settled();
    const { seen } = await readAll(tenant, anHourAgo(), 7);
    expect(seen).toEqual([`${restored.run_id} ok`, `${old.run_id} ok`]);
  });
});
