import type { Queryable } from '@gatehouse/pg/pool';
import { hasRow } from '@gatehouse/pg/rows';

export interface NewEvent {
  id: string;
  tenantId: string;
  type: string;
  body: string;
}

/** Stores an event. Returns false if it is stored already. */
export function insertEvent(db: Queryable, { id, tenantId, type, body }: NewEvent): Promise<boolean> {
  return hasRow(
    db,
    `insert into webhook.events (id, tenant_id, type, body) values ($1, $2, $3, $4) on conflict do nothing`,
    [id, tenantId, type, body],
  );
}

/** Marks that an event is sent now; false if the last one about the same subject is less than `everyS` ago. */
export function markSent(
  db: Queryable,
  { tenantId, subject, everyS }: { tenantId: string; subject: string; everyS: number },
): Promise<boolean> {
  return hasRow(
    db,
    `insert into webhook.event_marks as known (tenant_id, subject, at) values ($1, $2, now())
     on conflict (tenant_id, subject) do update set at = excluded.at
       where known.at <= now() - make_interval(secs => $3)`,
    [tenantId, subject, everyS],
  );
}
