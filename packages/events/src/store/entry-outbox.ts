import { afterCommit, type Queryable } from '@gatehouse/pg/pool';
import { partitionOf } from '../partitions.ts';
import { OutboxTable } from './outbox-table.ts';

interface EntryRow<Entry> {
  tenant_id: string | null;
  occurred_at: Date;
  content: Entry;
}

export interface EntryOutboxOptions<Entry> {
  /** Qualified name of the table. */
  table: string;
  /** The source of the events; unique in the service, since replicas lock partitions by it. */
  source: string;
  /** The partition key of a tenant, or of the platform. */
  keyOf: (tenantId: string | null) => string;
  /** Writes the event of an entry, with the time of its transaction. */
  write: (source: string, entry: Entry & { at: string }) => string;
}

/** A table of entries to publish: they are stored whole, and get the time of their transaction. */
export class EntryOutbox<Entry extends { tenant_id: string | null }> extends OutboxTable<EntryRow<Entry>> {
  /** The source of the events. */
  readonly source: string;
  readonly #table: string;

  constructor({ table, source, keyOf, write }: EntryOutboxOptions<Entry>) {
    super({
      table,
      columns: ['tenant_id'],
      content: 'entry',
      toEvent: ({ tenant_id: tenantId, occurred_at: at, content }) => ({
        key: keyOf(tenantId),
        json: write(source, { ...content, at: at.toISOString() }),
      }),
    });
    this.source = source;
    this.#table = table;
  }

  /** Adds an entry, in the transaction of what it describes. Its commit wakes the relay. */
  async add(db: Queryable, entry: Entry): Promise<void> {
    await db.query(`insert into ${this.#table} (partition, tenant_id, entry) values ($1, $2, $3)`, [
      entryPartition(entry.tenant_id),
      entry.tenant_id,
      JSON.stringify(entry),
    ]);
    afterCommit(db, () => this.committed());
  }
}

/** Entries of a tenant are in its partition, and those of the platform in the first. */
export function entryPartition(tenantId: string | null): number {
  return tenantId === null ? 0 : partitionOf(tenantId);
}
