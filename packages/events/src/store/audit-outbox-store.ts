import type { NewAuditEntry } from '@gatehouse/contract/audit';
import type { Queryable } from '@gatehouse/pg/pool';
import { auditKey, writeAuditEvent } from '../audit-event.ts';
import type { Outbox, OutboxEntry } from '../outbox.ts';
import { partitionOf } from '../partitions.ts';

interface Row {
  id: string;
  partition: number;
  tenant_id: string | null;
  occurred_at: Date;
  entry: NewAuditEntry;
}

/** A batch is full with the entry that reaches this: brokers take a mebibyte at once, an entry is a quarter at most. */
const enoughBytes = 500_000;

/** Administrative changes of a service that wait for publication, in its table `audit_outbox`. */
export class AuditOutbox implements Outbox {
  /** Of the events. */
  readonly source: string;
  readonly #table: string;

  constructor(service: string) {
    this.source = `gatehouse/${service}`;
    this.#table = `${service}.audit_outbox`;
  }

  /** In the transaction of the change, whose time the entry gets. */
  async add(db: Queryable, entry: NewAuditEntry): Promise<void> {
    await db.query(`insert into ${this.#table} (partition, tenant_id, entry) values ($1, $2, $3)`, [
      entry.tenant_id === null ? 0 : partitionOf(entry.tenant_id),
      entry.tenant_id,
      JSON.stringify(entry),
    ]);
  }

  async read(client: Queryable, partitions: readonly number[], limit: number): Promise<OutboxEntry[]> {
    const { rows } = await client.query<Row>(
      `select id::text, partition, tenant_id, occurred_at, entry from
         (select id, partition, tenant_id, occurred_at, entry,
                 sum(octet_length(entry::text)) over (order by id) - octet_length(entry::text) as bytes_before
          from ${this.#table} where partition = any($1::integer[]) order by id limit $2) as oldest
       where bytes_before < $3 order by oldest.id`,
      [partitions, limit, enoughBytes],
    );
    return rows.map(({ id, partition, tenant_id: tenantId, occurred_at: occurredAt, entry }) => ({
      id,
      partition,
      key: auditKey(tenantId),
      occurredAt,
      json: writeAuditEvent(this.source, { ...entry, at: occurredAt.toISOString() }),
    }));
  }

  async count(client: Queryable, partitions: readonly number[], most: number): Promise<number> {
    const { rows } = await client.query<{ entries: number }>(
      `select count(*)::integer as entries
       from (select from ${this.#table} where partition = any($1::integer[]) limit $2) as waiting`,
      [partitions, most],
    );
    return rows[0]?.entries ?? 0;
  }

  async remove(client: Queryable, ids: readonly string[]): Promise<void> {
    await client.query(`delete from ${this.#table} where id = any($1::bigint[])`, [ids]);
  }
}
