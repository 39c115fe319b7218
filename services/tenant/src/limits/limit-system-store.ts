import { monotonicMs } from '@gatehouse/kit/clock';
import type { Pool } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { touchEveryMs, maxTouched, maxOldHolders } from '../bounds.ts';

/** Calls don't repeat these settlements. */
export const oldSettlements: OldRows = {
  ...{ table: 'tenant.settlements', key: 'id', where: `settled_at < now() - interval '7 days'` },
};

interface Pools {
  /** For heartbeats, which completions wait for. Both act as `tenant_system`. */
  known: Pool;
  system: Pool;
}

/** Replicas that hold amounts of limits, and outdated rows: each statement is about all tenants. */
export class LimitSystemStore {
  readonly #known: Pool;
  readonly #system: Pool;
  /** The last heartbeat of each holder: when it began, by the monotonic clock, and its end. */
  readonly #touched = new Map<string, { at: number; written: Promise<unknown> }>();

  constructor({ known, system }: Pools) {
    this.#known = known;
    this.#system = system;
  }

  /** Writes rarely, and once for all concurrent calls of the holder: they would wait for this row. */
  async touchHolder(id: string): Promise<void> {
    const now = monotonicMs();
    const last = this.#touched.get(id);
    if (last !== undefined && now - last.at < touchEveryMs) {
      await last.written;
      return;
    }
    const written = this.#known.query(
      `insert into tenant.limit_holders (id) values ($1) on conflict (id) do update set seen_at = now()`,
      [id],
    );
    if (this.#touched.size > maxTouched) this.#touched.clear();
    this.#touched.set(id, { at: now, written });
    try {
      await written;
    } catch (error) {
      if (this.#touched.get(id)?.written === written) this.#touched.delete(id);
      throw error;
    }
  }

  /** Writes heartbeats of replicas reported alive by another one. Several report the same ones at once. */
  async touchHolders(holderIds: readonly string[]): Promise<void> {
    await this.#known.query(
      `update tenant.limit_holders set seen_at = now() where id = any (array (
         select id from tenant.limit_holders
         where id = any($1::uuid[]) and seen_at < now() - interval '1 second' order by id for update skip locked))`,
      [holderIds],
    );
  }

  /**
   * Releases everything held by dead replicas, with one statement for each: a replica has a row for every limited key
   * in its use, and finished replicas stay released when the call exceeds its deadline. A replica may have paused and
   * lease on until it learns of its death: holds of a released one count nowhere.
   */
  async releaseHolders(holderIds: readonly string[]): Promise<void> {
    for (const id of holderIds)
      await this.#system.query(
        `with released as (
           insert into tenant.limit_holders (id, released_at) values ($1, now())
           on conflict (id) do update set released_at = excluded.released_at
         )
         delete from tenant.limit_holds where holder_id = $1`,
        [id],
      );
  }

  /** Deletes some replicas without a sign of life for 40 days. Returns whether there may be more. */
  async deleteOldHolders(): Promise<boolean> {
    const old = await this.#system.all<{ id: string }>(
      `select id from tenant.limit_holders where seen_at < now() - interval '40 days' limit $1`,
      [maxOldHolders],
    );
    for (const { id } of old)
      await this.#system.query('delete from tenant.limit_holders where id = $1', [id]);
    return old.length === maxOldHolders;
  }

  /** Tenants, up to 10, with a zone of budgets unknown to PostgreSQL: their budgets use UTC. */
  async findUnknownTimezones(): Promise<{ id: string; timezone: string }[]> {
    return this.#system.all<{
      id: string;
      timezone: string;
    }>(`select id, budget_timezone as timezone from tenant.tenants
       where tenant.timezone_or_utc(budget_timezone) <> budget_timezone order by id limit 10`);
  }
}
