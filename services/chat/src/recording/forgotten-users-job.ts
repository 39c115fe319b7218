import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { Pool } from '@gatehouse/pg/pool';
import type { Forgotten, UserDeletion } from '@gatehouse/shell/participant';
import {
  deleteCompletionsOf,
  deleteDeadLettersWith,
  deleteOldTombstones,
  deleteResponsesOf,
  deleteSealsOf,
  deleteThoughtsOf,
  findOpenRuns,
  findWaitingEvents,
  forgetOpenRun,
  hideBatchesOf,
  insertTombstone,
  recentTombstones,
  replaceWaitingEvent,
  type OpenRun,
  type Tombstone,
} from './forget-system-store.ts';

/**
 * Longer than the statement that starts a run can be under way: a run that began before the deletion is in the database
 * by then.
 */
const settleMs = 10_000;
const sweepMs = 10_000;

/**
 * Removes users whose data were deleted. Chat holds completions for repeats, kept responses, thoughts and
 * makers of seals, runs under way and events that wait for publication: runs that began before the deletion keep their amounts and lose the user and all texts, and so do those
 * that are written late.
 */
export class ForgottenUsers {
  readonly #pool: Pool;
  readonly #settleMs: number;
  readonly #sweeping: PeriodicWork;

  constructor(options: { pool: Pool; log: Logger; settleMs?: number | undefined }) {
    this.#pool = options.pool;
    this.#settleMs = options.settleMs ?? settleMs;
    this.#sweeping = new PeriodicWork({
      task: 'remove forgotten users from late runs',
      log: options.log,
      everyMs: sweepMs,
      round: async () => {
        await this.sweep();
        return false;
      },
    });
  }

  start(): void {
    this.#sweeping.start();
  }

  async stop(): Promise<void> {
    await this.#sweeping.stop();
  }

  /** May be repeated, and must be until it is completed. */
  async forget({ tenantId, userId, requestedAt }: UserDeletion): Promise<Forgotten> {
    const requestedAtMs = requestedAt.getTime();
    const pool = this.#pool;
    const digest = userDigest(tenantId, userId);
    // First, so that nothing slips in behind the rest.
    const { untilMs, ageMs } = await insertTombstone(pool, { tenantId, digest, requestedAtMs });
    const completions = await deleteCompletionsOf(pool, tenantId, userId);
    const responses = await deleteResponsesOf(pool, tenantId, userId);
    const thoughts = await deleteThoughtsOf(pool, tenantId, userId);
    const seals = await deleteSealsOf(pool, tenantId, userId);
    const batches = await hideBatchesOf(pool, tenantId, userId);
    const open = await this.#forgetOpen([{ tenantId, digest, requestedAtMs: untilMs }]);
    const waiting = await this.#forgetWaiting(tenantId, userId, untilMs);
    // Entries hold JSON in JSON.
    await deleteDeadLettersWith(pool, tenantId, inString(fragmentOf(userId)));
    return {
      counts: { completions, responses, thoughts, seals, batches, runs: open + waiting },
      completed: ageMs >= this.#settleMs,
    };
  }

  /** Looks for runs of forgotten users that were written late, as by a database server that hung. */
  async sweep(): Promise<void> {
    await deleteOldTombstones(this.#pool);
    const tombstones = await recentTombstones(this.#pool);
    if (tombstones.length > 0) await this.#forgetOpen(tombstones);
  }

  async #forgetOpen(tombstones: readonly Tombstone[]): Promise<number> {
    const tenantIds = [...new Set(tombstones.map(({ tenantId }) => tenantId))];
    const untilMs = Math.max(...tombstones.map(({ requestedAtMs }) => requestedAtMs));
    const forgotten = new Map(tombstones.map((tombstone) => [tombstone.digest.toString('hex'), tombstone]));
    let count = 0;
    for (const run of await findOpenRuns(this.#pool, tenantIds, untilMs)) {
      const changed = withoutUser(run, forgotten);
      if (changed !== null && (await forgetOpenRun(this.#pool, run.id, changed))) count += 1;
    }
    return count;
  }

  async #forgetWaiting(tenantId: string, userId: string, untilMs: number): Promise<number> {
    const fragment = fragmentOf(userId);
    const runs = new Set<unknown>();
    for (let after: string | null = '0'; after !== null;) {
      const page = await findWaitingEvents(this.#pool, { tenantId, untilMs, fragment, after });
      for (const { id, data } of page.found) {
        const event = JSON.parse(data) as Record<string, unknown>;
        const changed = JSON.stringify(anonymous(event));
        if (await replaceWaitingEvent(this.#pool, { id, data: changed })) runs.add(event['run_id']);
      }
      after = page.last;
    }
    return runs.size;
  }
}

/** How a record of a run, which is JSON, names the user. No text in a record can contain it: its quotes are escaped. */
function fragmentOf(userId: string): string {
  return JSON.stringify({ user_id: userId }).slice(1, -1);
}

function inString(json: string): string {
  return JSON.stringify(json).slice(1, -1);
}

/** The record of a run of a forgotten user, without it; null if it is not of one. */
function withoutUser(
  { run, tenantId, startedAtMs }: OpenRun,
  forgotten: ReadonlyMap<string, Tombstone>,
): string | null {
  const record = readRecord(run);
  const userId = record?.['user_id'];
  if (record === null || typeof userId !== 'string') return null;
  const tombstone = forgotten.get(userDigest(tenantId, userId).toString('hex'));
  if (tombstone === undefined || startedAtMs > tombstone.requestedAtMs) return null;
  return JSON.stringify(anonymous(record));
}

/** A row that can't be read is moved to the dead letters when its run ends. */
function readRecord(run: string): Record<string, unknown> | null {
  try {
    return JSON.parse(run) as Record<string, unknown>;
  } catch {
    return null;
  }
}

const texts = ['user_id', 'input_preview', 'output_preview', 'error_message'];

function anonymous(record: Record<string, unknown>): Record<string, unknown> {
  const removed = texts.filter((name) => Object.hasOwn(record, name)).map((name) => [name, null]);
  return { ...record, ...(Object.fromEntries(removed) as Record<string, null>) };
}
