import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { Pool } from '@gatehouse/pg/pool';
import type { Forgotten, UserDeletion } from '@gatehouse/shell/deletion-inbox';
import { anonymous } from '../runs/run-record.ts';
import {
  deleteDeadLettersWith,
  deleteOldTombstones,
  deleteRowsOf,
  findLoggedRuns,
  findOpenRuns,
  findWaitingEvents,
  forgetLoggedRun,
  forgetOpenRun,
  hideBatchesOf,
  insertTombstone,
  recentTombstones,
  replaceWaitingEvent,
  type OpenRun,
  type Tombstone,
} from './forget-system-store.ts';
import { forgetSettleMs } from '../bounds.ts';

/**
 * Removes users after the deletion of their data. Chat holds completions for repeats, kept responses, thoughts and
 * makers of seals, runs under way and events waiting for publication: runs begun before the deletion keep their amounts
 * and lose the user and all texts, and so do those written late. Everything begun after it stays.
 */
export class ForgottenUsers {
  readonly #pool: Pool;
  readonly #settleMs: number;
  /** Looks for runs of forgotten users written late, as by a hanging database server. */
  readonly part: PeriodicWork;

  constructor(options: { pool: Pool; log: Logger; settleMs?: number | undefined }) {
    this.#pool = options.pool;
    this.#settleMs = options.settleMs ?? forgetSettleMs;
    this.part = new PeriodicWork({
      task: 'remove forgotten users from late runs',
      log: options.log,
      everyMs: 10_000,
      round: async () => {
        await this.sweep();
        return false;
      },
    });
  }

  /** May be repeated, and must be until it is completed. */
  async forget({ tenantId, userId, requestedAt }: UserDeletion): Promise<Forgotten> {
    const requestedAtMs = requestedAt.getTime();
    const pool = this.#pool;
    const digest = userDigest(tenantId, userId);
    // First, so nothing slips in behind the rest.
    const { untilMs, ageMs } = await insertTombstone(pool, { tenantId, digest, requestedAtMs });
    const user = { tenantId, userId, untilMs };
    const completions = await deleteRowsOf(pool, 'completions', user);
    const responses = await deleteRowsOf(pool, 'responses', user);
    const contents = await deleteRowsOf(pool, 'run_contents', user);
    const thoughts = await deleteRowsOf(pool, 'thoughts', user);
    const seals = await deleteRowsOf(pool, 'seals', user);
    const batches = await hideBatchesOf(pool, user);
    const runs = new Set([
      ...(await this.#forgetOpen([{ tenantId, digest, requestedAtMs: untilMs }])),
      ...(await this.#forgetWaiting(tenantId, userId, untilMs)),
    ]);
    // Entries hold JSON in JSON.
    await deleteDeadLettersWith(pool, tenantId, inString(fragmentOf(userId)));
    return {
      counts: { completions, responses, contents, thoughts, seals, batches, runs: runs.size },
      completed: ageMs >= this.#settleMs,
    };
  }

  /** One round. */
  async sweep(): Promise<void> {
    await deleteOldTombstones(this.#pool);
    const tombstones = await recentTombstones(this.#pool, '1 hour');
    if (tombstones.length > 0) await this.#forgetOpen(tombstones);
  }

  /** Returns the changed runs, as does the other. */
  async #forgetOpen(tombstones: readonly Tombstone[]): Promise<string[]> {
    const tenantIds = [...new Set(tombstones.map(({ tenantId }) => tenantId))];
    const untilMs = Math.max(...tombstones.map(({ requestedAtMs }) => requestedAtMs));
    const forgotten = new Map(tombstones.map((tombstone) => [tombstone.digest.toString('hex'), tombstone]));
    const changed: string[] = [];
    for (const { find, forget } of [
      // First the logs: what is taken over from them comes to the other table.
      { find: findLoggedRuns, forget: forgetLoggedRun },
      { find: findOpenRuns, forget: forgetOpenRun },
    ])
      for (const run of await find(this.#pool, tenantIds, untilMs)) {
        const anonymousRun = withoutUser(run, forgotten);
        if (anonymousRun !== null && (await forget(this.#pool, run.id, anonymousRun))) changed.push(run.id);
      }
    return changed;
  }

  async #forgetWaiting(tenantId: string, userId: string, untilMs: number): Promise<string[]> {
    const fragment = fragmentOf(userId);
    const changed: string[] = [];
    for (let after: string | null = '0'; after !== null;) {
      const page = await findWaitingEvents(this.#pool, { tenantId, untilMs, fragment, after });
      for (const { id, data } of page.matches) {
        const { run_id: runId } = JSON.parse(data) as { run_id: string };
        if (await replaceWaitingEvent(this.#pool, { id, data: anonymous(data) })) changed.push(runId);
      }
      after = page.last;
    }
    return changed;
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
  return anonymous(run);
}

/** An unreadable row is moved to the dead letters when its run ends. */
function readRecord(run: string): Record<string, unknown> | null {
  try {
    return JSON.parse(run) as Record<string, unknown>;
  } catch {
    return null;
  }
}
