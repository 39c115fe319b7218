import type { NewAuditEntry } from '@gatehouse/contract/audit';
import type { Queryable } from '@gatehouse/pg/pool';
import { auditKey, writeAuditEvent } from '../audit-event.ts';
import { partitionOf } from '../partitions.ts';
import { OutboxTable } from './outbox-table.ts';

interface AuditRow {
  tenant_id: string | null;
  occurred_at: Date;
  content: NewAuditEntry;
}

/** The table `audit_outbox` of a service: administrative changes that wait for publication. */
export class AuditOutbox extends OutboxTable<AuditRow> {
  /** The source of the events. */
  readonly source: string;
  readonly #table: string;

  constructor(service: string) {
    const source = `gatehouse/${service}`;
    const table = `${service}.audit_outbox`;
    super({
      table,
      columns: ['tenant_id'],
      content: 'entry',
      toEvent: ({ tenant_id: tenantId, occurred_at: at, content }) => ({
        key: auditKey(tenantId),
        json: writeAuditEvent(source, { ...content, at: at.toISOString() }),
      }),
    });
    this.source = source;
    this.#table = table;
  }

  /** Adds an entry. Call it in the transaction of the change; the entry gets the time of that transaction. */
  async add(db: Queryable, entry: NewAuditEntry): Promise<void> {
    await db.query(`insert into ${this.#table} (partition, tenant_id, entry) values ($1, $2, $3)`, [
      entry.tenant_id === null ? 0 : partitionOf(entry.tenant_id),
      entry.tenant_id,
      JSON.stringify(entry),
    ]);
  }
}
