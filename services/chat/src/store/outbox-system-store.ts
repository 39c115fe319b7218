import type { Outbox } from '@gatehouse/events/outbox';
import { writeRunEvent } from '@gatehouse/events/run-event';

/** Source of the events of this service. */
export const eventSource = 'gatehouse/chat';

interface OutboxRow {
  id: string;
  partition: number;
  tenant_id: string;
  run_id: string;
  occurred_at: string;
  started_at: string;
  ended_at: string | null;
  data: string;
}

/** ISO 8601, which costs the database less than its own format costs us. */
const iso = (time: string): string => `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${time}`;

/** Events about runs, as they were written down with them. */
export const runOutbox: Outbox = {
  async read(client, partitions, limit) {
    const { rows } = await client.query<OutboxRow>({
      name: 'read_outbox',
      text: `
        select id::text, partition, tenant_id, run_id, ${['occurred_at', 'started_at', 'ended_at'].map(iso).join(', ')}, data
        from chat.outbox
        where partition = any($1::integer[]) order by chat.outbox.id limit $2`,
      values: [partitions, limit],
    });
    return rows.map((row) => ({
      id: row.id,
      partition: row.partition,
      key: row.tenant_id,
      occurredAt: new Date(row.occurred_at),
      json: writeRunEvent(eventSource, {
        runId: row.run_id,
        tenantId: row.tenant_id,
        startedAt: row.started_at,
        endedAt: row.ended_at,
        data: row.data,
      }),
    }));
  },

  async count(client, partitions, most) {
    const { rows } = await client.query<{ entries: number }>({
      name: 'count_outbox',
      text: `
        select count(*)::integer as entries
        from (select from chat.outbox where partition = any($1::integer[]) limit $2) as waiting`,
      values: [partitions, most],
    });
    return rows[0]?.entries ?? 0;
  },

  async remove(client, ids) {
    await client.query({
      name: 'remove_from_outbox',
      text: 'delete from chat.outbox where id = any($1::bigint[])',
      values: [ids],
    });
  },
};
