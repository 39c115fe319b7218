import { OutboxTable } from '@gatehouse/events/store/outbox-table';
import { writeRunEvent } from '@gatehouse/events/run-event';
import type { Queryable } from '@gatehouse/pg/pool';

/** Source of the events of this service. */
export const eventSource = 'gatehouse/chat';

interface RunEventRow {
  tenant_id: string;
  run_id: string;
  started_at: string;
  ended_at: string | null;
  corrects: boolean;
  content: string;
}

/** ISO 8601, which costs the database less than its own format costs us. */
const iso = (time: string): string => `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Events about runs not published by a process from its log: see `RunPublisher`. */
export class RunOutbox extends OutboxTable<RunEventRow> {
  constructor() {
    super({
      table: 'chat.outbox',
      columns: ['tenant_id', 'run_id', 'started_at', 'ended_at', 'corrects'],
      selected: {
        occurred_at: iso('occurred_at'),
        started_at: iso('started_at'),
        ended_at: iso('ended_at'),
      },
      content: 'data',
      toEvent: (row) => ({
        key: row.tenant_id,
        json: writeRunEvent(eventSource, {
          runId: row.run_id,
          tenantId: row.tenant_id,
          startedAt: row.started_at,
          endedAt: row.ended_at,
          corrects: row.corrects,
          data: row.content,
        }),
      }),
    });
  }

  /** The oldest of the ends in logs of runs, which the processes publish themselves. */
  override async heldAt(client: Queryable): Promise<Date | null> {
    const { rows } = await client.query<{ at: Date | null }>({
      name: 'held at',
      text: `
        select min(l.written_at) as at
        from chat.run_log l
          join (select instance_id, max(published) as published from chat.run_log group by instance_id) m
            on m.instance_id = l.instance_id
        where l.publishes and l.sequence > m.published`,
    });
    return rows[0]?.at ?? null;
  }
}
