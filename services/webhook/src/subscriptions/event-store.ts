import type { Queryable } from '@gatehouse/pg/pool';

export interface NewEvent {
  id: string;
  tenantId: string;
  type: string;
  body: string;
}

/** Stores an event. Returns false if it is stored already. */
export async function insertEvent(db: Queryable, { id, tenantId, type, body }: NewEvent): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into webhook.events (id, tenant_id, type, body) values ($1, $2, $3, $4) on conflict do nothing`,
    [id, tenantId, type, body],
  );
  return rowCount === 1;
}

/** Marks that an event is sent now; false if the last one about the same subject is less than `everyS` ago. */
export async function markSent(
  db: Queryable,
  { tenantId, subject, everyS }: { tenantId: string; subject: string; everyS: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into webhook.event_marks as known (tenant_id, subject, at) values ($1, $2, now())
     on conflict (tenant_id, subject) do update set at = excluded.at
       where known.at <= now() - make_interval(secs => $3)`,
    [tenantId, subject, everyS],
  );
  return rowCount === 1;
}
