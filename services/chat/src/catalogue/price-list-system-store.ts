import { hash } from 'node:crypto';
import type { Pool } from '@gatehouse/pg/pool';

/** The last good list behind each URL, for all replicas. */
export class PriceListSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `chat_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Keeps a list, unless it is kept already. */
  async keep(url: string, list: string): Promise<void> {
    await this.#pool.query(
      `insert into chat.price_lists as kept (source, list) values ($1, $2)
       on conflict (source) do update set list = excluded.list, kept_at = now() where kept.list <> excluded.list`,
      // Replicas of 0.3.0 read what follows a first line.
      [sourceOf(url), `\n${list}`],
    );
  }

  /** Null where none was ever good. */
  async find(url: string): Promise<string | null> {
    const { rows } = await this.#pool.query<{ list: string }>(
      'select list from chat.price_lists where source = $1',
      [sourceOf(url)],
    );
    // Version 0.3.0 kept a line with a signature before the JSON.
    const list = rows[0]?.list ?? null;
    return list === null ? null : list.slice(Math.max(0, list.indexOf('{')));
  }
}

function sourceOf(url: string): Buffer {
  return hash('sha256', url, 'buffer');
}
