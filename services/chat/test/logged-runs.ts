import { expect } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { insertInstance } from '../src/recording/instance-system-store.ts';
import { RunLog, type RunLogOptions } from '../src/recording/run-log.ts';
import { takeOverLog } from '../src/recording/run-log-system-store.ts';
import type { EndRow, StartRow } from '../src/recording/run-rows.ts';

/** A publisher that takes nothing, so that ends go to the outbox. */
export const noPublisher = {
  ...{ isOpen: false, takesObjects: false },
  push: () => undefined,
  stop: () => Promise.resolve(),
};

interface LogOptions {
  publisher?: RunLogOptions['publisher'];
  onDeadLetters?: (events: number) => void;
  onTaken?: (ends: number) => void;
  onLost?: (runId: string) => void;
}

/** The log of an instance. Its ends go to the outbox, unless there is a publisher. */
export function logOf(pool: Pool, instanceId: string, options: LogOptions = {}): RunLog {
  return new RunLog({
    ...{ pool, instanceId, log: createLogger('chat', 'silent') },
    publisher: options.publisher ?? noPublisher,
    deadLetters: { inc: (events) => options.onDeadLetters?.(events) },
    onCommitted: () => undefined,
    onLost: ({ run }) => options.onLost?.(run.run_id),
    onTaken: (ends) => {
      options.onTaken?.(ends.length);
      for (const { resolve } of ends) resolve();
    },
  });
}

/** The log of a new instance. */
export async function makeLog(pool: Pool, options: LogOptions = {}): Promise<RunLog> {
  const instanceId = newId();
  await insertInstance(pool, instanceId);
  return logOf(pool, instanceId, options);
}

/** How many rows a log has. */
export async function rowCount(pool: Pool, log: RunLog): Promise<number> {
  const { rows } = await pool.query('select from chat.run_log where instance_id = $1', [log.instanceId]);
  return rows.length;
}

/** Lets the log delete what is of no use, as after a second without requests. */
export async function rest(pool: Pool, log: RunLog): Promise<void> {
  await log.tick(monotonicMs() + 10_000, -Infinity);
  await eventually(async () => expect(await rowCount(pool, log)).toBeLessThanOrEqual(1));
}

/** Starts runs in the log of an instance. Returns the log, to end them. */
export async function startRuns(pool: Pool, instanceId: string, rows: readonly StartRow[]): Promise<RunLog> {
  const log = logOf(pool, instanceId);
  await Promise.all(rows.map((row) => log.start(row)));
  return log;
}

/** Ends a run as the recorder does. */
export async function endRun(row: EndRow): Promise<void> {
  await row.handle?.logged?.log.end(row);
}

/** Declares an instance dead, and moves what it has left to where a reaper finds it. */
export async function leaveOrphans(pool: Pool, instanceId: string): Promise<void> {
  await pool.query('update chat.instances set dead_at = now() where id = $1', [instanceId]);
  await takeOverLog(pool, instanceId);
}
