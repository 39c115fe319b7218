import { AppError } from '@gatehouse/kit/errors';
import { withTenant, type Pool } from './pool.ts';
import { only } from './rows.ts';

/** Requests of a tenant by which the gateway calls another server, each by itself. */
const callsPerMinute = 60;

/** Counts these requests of each tenant by the minute, over all replicas. */
export class MinuteCounts {
  readonly #pool: Pool;
  readonly #table: string;

  /** The schema of `service` must have a table `minute_counts`, which the role of `pool` may write. */
  constructor(pool: Pool, service: string) {
    this.#pool = pool;
    this.#table = `${service}.minute_counts`;
  }

  /** Counts a request, whatever comes of it. Throws `rate_limit_exceeded` for one too many of its kind in this minute. */
  async count(tenantId: string, kind: string): Promise<void> {
    const { count, endsInMs } = await withTenant(this.#pool, tenantId, async (db) =>
      only(
        await db.query<{ count: number; endsInMs: number }>(
          `insert into ${this.#table} as known (tenant_id, kind, minute, count)
           values ($1, $2, date_trunc('minute', now()), 1)
           on conflict (tenant_id, kind) do update set minute = greatest(known.minute, excluded.minute),
             count = case when known.minute >= excluded.minute then known.count + 1 else 1 end
           returning count,
             extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
          [tenantId, kind],
        ),
      ),
    );
    if (count > callsPerMinute)
      throw new AppError(
        'rate_limit_exceeded',
        `A tenant may send at most ${callsPerMinute} requests of this kind a minute, since each calls another server.`,
        { retryAfterMs: endsInMs },
      );
  }
}
