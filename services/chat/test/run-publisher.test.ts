import { afterEach, describe, expect, it } from '@jest/globals';
import { writeRunEvent } from '@gatehouse/events/run-event';
import type { EventObject, EventSink, EventText, PartitionBatch } from '@gatehouse/events/sink';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { eventually } from '@gatehouse/test/eventually';
import type { PublishedRow } from '../src/recording/log-group-store.ts';
import type { LoggedRun } from '../src/recording/logged-run.ts';
import { RunPublisher } from '../src/recording/run-publisher-job.ts';

/** A sink that can be away, and notes what it gets. */
class Sink implements EventSink {
  away = false;
  takesObjects = false;
  readonly got: string[] = [];
  readonly events: (EventText | EventObject)[] = [];
  /** Resolves publications that wait. */
  gate: Promise<void> = Promise.resolve();

  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    await this.gate;
    if (this.away) throw new Error('away');
    for (const { events } of batches) {
      this.got.push(...events.map(({ json }) => json));
      this.events.push(...events);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Rows that were published, and that went to the outbox. */
const log = { published: new Set<PublishedRow>(), spilled: new Set<PublishedRow>() };
const owner = {
  published: (row: PublishedRow) => log.published.add(row),
  spill: (row: PublishedRow) => log.spilled.add(row),
};

function rowOf(chars = 10): PublishedRow {
  const at = '2026-11-27T10:00:00.000Z';
  const data = JSON.stringify({ text: 'x'.repeat(chars) });
  const event = { runId: newId(), tenantId: newId(), startedAt: at, endedAt: at, data };
  return { log: owner, sequence: 1, runs: [], events: [event], since: monotonicMs() };
}

let publisher: RunPublisher;
async function open(sink: EventSink | null): Promise<void> {
  log.published.clear();
  log.spilled.clear();
  publisher = new RunPublisher({
    sink,
    log: createLogger('chat', 'silent'),
    registry: createRegistry('chat-test'),
  });
  publisher.start();
  if (sink !== null) await untilOpen();
}

/** It takes one row first, to see whether it arrives. */
async function untilOpen(): Promise<void> {
  await eventually(() => expect(publisher.isOpen).toBe(true));
  const probe = rowOf();
  publisher.push(probe);
  await eventually(() => expect(log.published.delete(probe)).toBe(true));
}
afterEach(() => publisher.stop());

describe('events of committed ends in the process of their consumer', () => {
  const at = '2026-11-27T10:00:00.000Z';

  /** A row with the end of a run, which has an object or not, and its start. */
  function rowWith(ended: unknown): PublishedRow {
    const [event] = rowOf().events;
    if (event === undefined) throw new Error('no event');
    const run = { ended: () => ended } as unknown as LoggedRun;
    return { ...rowOf(), runs: [run, run], events: [event, { ...event, endedAt: null }] };
  }

  it('are published as objects, but for starts and for runs that have JSON alone', async () => {
    const sink = new Sink();
    sink.takesObjects = true;
    await open(sink);
    const data = { run_id: 'r1', ended_at: at };
    const rows = [rowWith(data), rowWith(null)];
    for (const row of rows) publisher.push(row);
    await eventually(() => expect([...log.published]).toEqual(rows));
    expect(sink.events.slice(1).map((event) => ('data' in event ? event.data : null))).toEqual([
      data,
      ...[null, null, null],
    ]);
    // As JSON they are the same event.
    expect(sink.got[1]).toEqual(
      writeRunEvent('gatehouse/chat', { ...rows[0]?.events[0], corrects: false } as never),
    );
  });

  it('are published as JSON to a sink that takes no objects', async () => {
    const sink = new Sink();
    await open(sink);
    publisher.push(rowWith({ run_id: 'r1' }));
    await eventually(() => expect(sink.events).toHaveLength(3));
    expect(sink.events.some((event) => 'data' in event)).toBe(false);
  });
});

describe('events of committed ends', () => {
  it('are published from memory', async () => {
    const sink = new Sink();
    await open(sink);
    const rows = [rowOf(), rowOf()];
    for (const row of rows) publisher.push(row);
    await eventually(() => expect([...log.published]).toEqual(rows));
    expect(sink.got.slice(1).map((json) => (JSON.parse(json) as { subject: string }).subject)).toEqual(
      rows.map(({ events }) => events[0]?.runId),
    );
    expect(log.spilled.size).toBe(0);
  });

  it('go to the outbox while there is no sink', async () => {
    await open(null);
    expect(publisher.isOpen).toBe(false);
    publisher.push(rowOf());
    expect(log.spilled.size).toBe(1);
  });

  it('go to the outbox while the sink is away, and are published again when it is back', async () => {
    const sink = new Sink();
    await open(sink);
    sink.away = true;
    publisher.push(rowOf());
    await eventually(() => expect(log.spilled.size).toBe(1));
    expect(publisher.isOpen).toBe(false);
    publisher.push(rowOf());
    expect(log.spilled.size).toBe(2);
    sink.away = false;
    await eventually(() => expect(publisher.isOpen).toBe(true));
    const rows = [rowOf(), rowOf()];
    for (const row of rows) publisher.push(row);
    // The first is the probe, so the second goes to the outbox.
    await eventually(() => expect([...log.published]).toEqual(rows.slice(0, 1)));
    expect(log.spilled.size).toBe(3);
    expect(publisher.isOpen).toBe(true);
  });

  it('are published again after the one that was to show whether they arrive had waited for too long', async () => {
    const sink = new Sink();
    await open(sink);
    sink.away = true;
    publisher.push(rowOf());
    await eventually(() => expect(log.spilled.size).toBe(1));
    sink.away = false;
    await eventually(() => expect(publisher.isOpen).toBe(true));
    // As in a process that was paused.
    publisher.push({ ...rowOf(), since: monotonicMs() - 60_000 });
    await eventually(() => expect(log.spilled.size).toBe(2));
    await untilOpen();
    expect(log.published.size).toBe(0);
  });

  it('go to the outbox after two seconds of a sink that hangs, which may publish them even so', async () => {
    const sink = new Sink();
    await open(sink);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    sink.gate = promise.then(() => undefined);
    const [sent, queued] = [rowOf(), rowOf()];
    publisher.push(sent);
    await new Promise((go) => setTimeout(go, 200));
    publisher.push(queued);
    await eventually(() => expect([...log.spilled]).toEqual([sent, queued]));
    expect(publisher.isOpen).toBe(false);
    resolve(undefined);
    await untilOpen();
    expect(log.published.size).toBe(0);
    expect(sink.got.some((json) => json.includes(sent.events[0]?.runId ?? ''))).toBe(true);
  });

  it('go to the outbox alone if the sink that hung has not got their batch yet', async () => {
    const sink = new Sink();
    await open(sink);
    const before = sink.got.length;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    sink.gate = promise.then(() => undefined);
    const rows = Array.from({ length: 1_000 }, () => rowOf());
    for (const row of rows) publisher.push(row);
    await eventually(() => expect(log.spilled.size).toBe(1_000));
    resolve(undefined);
    await untilOpen();
    // The first batch, which the sink has had since before, and the probe.
    expect(sink.got.length - before).toBe(501);
  });

  it('wait in bounded number while the sink hangs', async () => {
    const sink = new Sink();
    await open(sink);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    sink.gate = promise.then(() => undefined);
    for (let count = 0; count < 7_000; count += 1) publisher.push(rowOf());
    expect(log.spilled.size).toBeGreaterThan(900);
    resolve(undefined);
    await eventually(() => expect(log.published.size + log.spilled.size).toBe(7_000));
    expect(sink.got.slice(1)).toHaveLength(log.published.size);
  });

  it('are left to the outbox if they may be too large', async () => {
    const sink = new Sink();
    await open(sink);
    const row = rowOf(300_000);
    publisher.push(row);
    expect([...log.spilled]).toEqual([row]);
    expect(publisher.isOpen).toBe(true);
  });

  it('are published before it stops', async () => {
    const sink = new Sink();
    await open(sink);
    for (let count = 0; count < 2_500; count += 1) publisher.push(rowOf());
    await publisher.stop();
    expect(log.published.size).toBe(2_500);
    publisher.push(rowOf());
    expect(log.spilled.size).toBe(1);
  });
});
