import { hash } from 'node:crypto';
import { Store } from '@gatehouse/pg/store';
import { keptPriceLists } from '../bounds.ts';

/** The last good list behind each URL, for all replicas. `pool` acts as `chat_system`. */
export class PriceListSystemStore extends Store {
  /** Keeps a list, unless it is kept already, in place of the oldest beyond a number. */
  async keep(url: string, list: string): Promise<void> {
    await this.pool.query(
      `insert into chat.price_lists as kept (source, list) values ($1, $2)
       on conflict (source) do update set list = excluded.list, kept_at = now() where kept.list <> excluded.list`,
      // Replicas of 0.3.0 read what follows a first line.
      [sourceOf(url), `\n${list}`],
    );
    await this.pool.query(
      `delete from chat.price_lists where source <> $1 and ctid = any (array(
         select ctid from chat.price_lists order by kept_at desc offset $2))`,
      [sourceOf(url), keptPriceLists],
    );
  }

  /** Null before the first good one. */
  async find(url: string): Promise<string | null> {
    const statement = 'select list from chat.price_lists where source = $1';
    const row = await this.pool.first<{ list: string }>(statement, [sourceOf(url)]);
    // Version 0.3.0 kept a line with a signature before the JSON.
    return row === null ? null : row.list.slice(Math.max(0, row.list.indexOf('{')));
  }
}

function sourceOf(url: string): Buffer {
  return hash('sha256', url, 'buffer');
}
