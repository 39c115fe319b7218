import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { NewAuditEntry } from '@gatehouse/contract/audit';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { readAuditEvent } from './audit-event.ts';
import { readEvent } from './cloud-event.ts';
import { partitionOf } from './partitions.ts';
import { OutboxRelay, type OutboxRelayOptions } from './outbox-relay.ts';
import { RejectedBatchError, type EventSink, type PartitionBatch } from './sink.ts';
import { AuditOutbox } from './store/audit-outbox-store.ts';
import { watermarkType } from './watermark.ts';

const outbox = new AuditOutbox('agent');
const log = createLogger('test', 'silent');
/** Tenants in different partitions. */
const [steady, troubled] = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'];

/** Accepts at most `maxBytes` in a batch, and rejects closed partitions. */
class PickySink implements EventSink {
  maxBytes = Infinity;
  readonly closed = new Set<number>();
  readonly events: { partition: number; json: string }[] = [];
  readonly batches: PartitionBatch[] = [];

  publish(batches: readonly PartitionBatch[]): Promise<void> {
    for (const { partition, events } of batches) {
      const bytes = events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
      if (bytes > this.maxBytes) return refuse('size');
      if (this.closed.has(partition)) return refuse('partition');
    }
    this.batches.push(...batches);
    for (const { partition, events } of batches)
      this.events.push(...events.map(({ json }) => ({ partition, json })));
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Does not answer until `end` is called, like a paused process. */
class HangingSink implements EventSink {
  calls = 0;
  readonly #ended = Promise.withResolvers<undefined>();

  publish(): Promise<void> {
    this.calls += 1;
    return this.#ended.promise;
  }

  end(): void {
    this.#ended.resolve(undefined);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function refuse(reason: 'size' | 'partition'): Promise<never> {
  return Promise.reject(new RejectedBatchError(reason, new Error('not this')));
}

let database: TestDatabase;
let app: Pool;
let system: Pool;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await createTestDatabase('agent');
  app = createPool({ url: database.url, role: 'agent_app', max: 1, log });
  system = createPool({ url: database.url, role: 'agent_system', max: 3, log });
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await query(database.adminUrl, 'truncate agent.audit_outbox, agent.audit_outbox_dead_letters');
});
afterAll(async () => {
  for (const pool of [app, system]) await pool.end();
  await database.drop();
});

function startRelay(sink: EventSink, settings: Pick<OutboxRelayOptions, 'idleSessionTimeoutMs'> = {}) {
  const registry = createRegistry('test');
  const shared = { source: outbox.source, pool: system, outbox, watermarks: true, log };
  const options = { ...shared, sink, registry, ...settings };
  const relay = new OutboxRelay(options);
  relay.start();
  stops.push(() => relay.stop());
  return { registry, relay };
}

/** Adds entries and returns their ids. */
async function add(tenantId: string, sizes: readonly number[]): Promise<string[]> {
  const entries = sizes.map((bytes): NewAuditEntry => ({
    id: newId(),
    action: 'agent.created',
    actor: { key_id: newId(), role: 'admin', user_id: null },
    tenant_id: tenantId,
    resource: { type: 'agent', id: newId() },
    client_ip: null,
    request_id: 'request-1',
    before: null,
    after: { bulk: 'x'.repeat(bytes) },
  }));
  await withTenant(app, tenantId, async (db) => {
    for (const entry of entries) await outbox.add(db, entry);
  });
  return entries.map(({ id }) => id);
}

/** Event ids that the sink received for the partition of a tenant, in order, and `mark` for watermarks. */
function published(sink: PickySink, tenantId: string): string[] {
  const own = sink.events.filter(({ partition }) => partition === partitionOf(tenantId));
  return own.map(({ json }) =>
    readEvent(json).type === watermarkType ? 'mark' : (readAuditEvent(json)?.id ?? ''),
  );
}

const changes = (sink: PickySink, tenantId: string): string[] =>
  published(sink, tenantId).filter((each) => each !== 'mark');

const deadLetters = (): Promise<{ reason: string; tenant_id: string; entry: string }[]> =>
  query(
    database.adminUrl,
    'select reason, tenant_id, entry from agent.audit_outbox_dead_letters order by id',
  );

async function metric(
  { registry }: ReturnType<typeof startRelay>,
  name: string,
): Promise<number | undefined> {
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
}

describe('the relay of an outbox', () => {
  it('publishes more than a broker takes at once in batches of half a megabyte for each partition', async () => {
    const sink = new PickySink();
    const ids = await add(steady, Array<number>(600).fill(2_200));
    startRelay(sink);
    await eventually(() => expect(changes(sink, steady)).toEqual(ids));
    for (const { events } of sink.batches)
      expect(Buffer.byteLength(events.map(({ json }) => json).join(''))).toBeLessThanOrEqual(500_000);
  });

  it('publishes an entry that is larger than a batch alone', async () => {
    const sink = new PickySink();
    const ids = await add(steady, [100, 900_000, 100]);
    startRelay(sink);
    await eventually(() => expect(changes(sink, steady)).toEqual(ids));
    const batch = sink.batches.find(({ events }) => events.some(({ json }) => json.length > 900_000));
    expect(batch?.events).toHaveLength(1);
  });

  it('halves what is refused as too large, in order, and moves a single entry to the dead letters', async () => {
    const sink = new PickySink();
    sink.maxBytes = 20_000;
    const ids = await add(steady, [100, 5_000, 100, 30_000, 8_000, 8_000, 100]);
    const others = await add(troubled, [100, 100]);
    const registry = startRelay(sink);
    await eventually(() => expect(changes(sink, steady)).toEqual(ids.filter((id) => id !== ids[3])));
    await eventually(() => expect(changes(sink, troubled)).toEqual(others));
    const [letter, ...more] = await deadLetters();
    expect(letter).toMatchObject({
      reason: expect.stringMatching(/^too large for the sink: 30/),
      tenant_id: steady,
    });
    expect(letter?.entry).toContain(ids[3]);
    expect(more).toEqual([]);
    expect(await metric(registry, 'gatehouse_events_unpublishable_total')).toBe(1);
    await eventually(() => expect(published(sink, steady).at(-1)).toBe('mark'));
    expect(await query(database.adminUrl, 'select id from agent.audit_outbox')).toEqual([]);
  });

  it('moves rows to the dead letters that are no event or exceed what an event may have', async () => {
    const sink = new PickySink();
    const insert = (entry: string) =>
      query(
        database.adminUrl,
        'insert into agent.audit_outbox (partition, tenant_id, entry) values ($1, $2, $3)',
        [partitionOf(steady), steady, entry],
      );
    await insert('{"id":"no resource"}');
    await insert(JSON.stringify({ bulk: 'x'.repeat(9_000_000) }));
    const ids = await add(steady, [100]);
    startRelay(sink);
    await eventually(() => expect(changes(sink, steady)).toEqual(ids));
    const letters = await deadLetters();
    expect(letters.map(({ reason }) => reason)).toEqual([
      'the row is not a valid event',
      expect.stringMatching(/^larger than 1000000 bytes: 9/),
    ]);
    expect(letters[1]?.entry).toHaveLength(2_000_000);
  });

  it('publishes other partitions while one is refused, and no watermark of that one before its events', async () => {
    const sink = new PickySink();
    sink.closed.add(partitionOf(troubled));
    const held = await add(troubled, [100, 100]);
    const ids = await add(steady, [100, 100]);
    const registry = startRelay(sink);
    const twoMarks = [...ids, 'mark', 'mark'];
    await eventually(() => expect(published(sink, steady).slice(0, 4)).toEqual(twoMarks));
    expect(published(sink, troubled)).toEqual([]);
    await eventually(async () =>
      expect(await metric(registry, 'gatehouse_outbox_age_seconds')).toBeGreaterThan(0),
    );
    expect(await metric(registry, 'gatehouse_events_publish_failures_total')).toBeGreaterThan(0);
    sink.closed.clear();
    const heldFirst = [...held, 'mark'];
    await eventually(() => expect(published(sink, troubled).slice(0, 3)).toEqual(heldFirst));
  });

  it('takes over from a replica that hangs, and shows until then how old the oldest event is', async () => {
    const hanging = new HangingSink();
    // Longer than it takes until the other one counts again.
    startRelay(hanging, { idleSessionTimeoutMs: 16_000 });
    const ids = await add(steady, [100, 100]);
    await eventually(() => expect(hanging.calls).toBeGreaterThan(0));
    const sink = new PickySink();
    const registry = startRelay(sink);
    await eventually(async () => {
      expect(await metric(registry, 'gatehouse_outbox_age_seconds')).toBeGreaterThan(1);
      expect(await metric(registry, 'gatehouse_outbox_entries')).toBe(0);
    });
    expect(changes(sink, steady)).toEqual([]);
    await eventually(() => expect(changes(sink, steady)).toEqual(ids), 40_000);
    hanging.end();
  });

  it('publishes at once what another replica has committed, however long nothing has come', async () => {
    const [holds, holdsNone] = [new PickySink(), new PickySink()];
    startRelay(holds);
    await eventually(() => expect(published(holds, steady)).not.toEqual([]));
    const other = startRelay(holdsNone);
    // Between its reads after 3.8 and 6.8 s.
    await sleep(4_200);
    const ids = await add(steady, [100]);
    other.relay.wake();
    await eventually(() => expect(changes(holds, steady)).toEqual(ids), 1_500);
    expect(holdsNone.events).toEqual([]);
  });

  it('goes on looking for a while after another replica has woken it', async () => {
    const holds = new PickySink();
    startRelay(holds);
    await eventually(() => expect(published(holds, steady)).not.toEqual([]));
    const other = startRelay(new PickySink());
    await sleep(4_200);
    other.relay.wake();
    // So soon that the other one does not notify again.
    await sleep(300);
    const ids = await add(steady, [100]);
    other.relay.wake();
    await eventually(() => expect(changes(holds, steady)).toEqual(ids), 1_500);
  });

  it('deletes dead letters after 30 days, and the oldest beyond a thousand', async () => {
    await query(
      database.adminUrl,
      `insert into agent.audit_outbox_dead_letters (tenant_id, dead_at, reason, entry)
       select null, now() - case when n > 1490 then interval '31 days' else interval '1 day' end, n::text, '{}'
       from generate_series(1, 1500) as n`,
    );
    startRelay(new PickySink());
    await eventually(async () => {
      const reasons = (await deadLetters()).map(({ reason }) => Number(reason));
      expect([reasons.length, reasons[0], reasons.at(-1)]).toEqual([990, 501, 1490]);
    });
  });
});
