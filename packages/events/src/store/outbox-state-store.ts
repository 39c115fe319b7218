import { topics, type Topic } from '@gatehouse/contract/services';
import type { Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import { partitionCount } from '../partitions.ts';

/** Waiting and unpublishable events of an outbox. */
export interface OutboxState {
  /** The table without its schema. */
  name: string;
  waiting: number;
  /** 0 if nothing waits. */
  oldestAgeSeconds: number;
  deadLetters: number;
}

/** Beyond this number only the age matters. */
const mostCounted = 100_000;

/** The table of a topic with an outbox of its own, in the schema of the publishing service. */
const tables: Partial<Record<Topic, string>> = {
  [topics.usage]: 'outbox',
  [topics.audit]: 'audit_outbox',
  [topics.alerts]: 'alert_outbox',
};

/** Whether events of the topic wait in a table of their own, and become dead letters of their consumer. */
export function hasOutbox(topic: Topic): boolean {
  return tables[topic] !== undefined;
}

/** The state of the outbox of a topic; null for a topic without one. `db` acts as `<service>_system`. */
export async function readOutboxState(
  db: Queryable,
  service: string,
  topic: Topic,
): Promise<OutboxState | null> {
  const name = tables[topic];
  if (name === undefined) return null;
  const table = `${service}.${name}`;
  const result = await db.query<Omit<OutboxState, 'name'>>(
    `select
       (select count(*)::integer from (select from ${table} limit $1) as entries) as waiting,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - min(occurred_at)), 0), 0)::float8
        from generate_series(0, $2::integer - 1) as wanted (number)
          cross join lateral (
            select occurred_at from ${table} where partition between wanted.number and wanted.number
            order by partition, id limit 1
          ) as oldest) as "oldestAgeSeconds",
       (select count(*)::integer from (select from ${table}_dead_letters limit $1) as letters) as "deadLetters"`,
    [mostCounted, partitionCount],
  );
  return { name, ...only(result) };
}
