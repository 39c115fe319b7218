import type { Pool } from '@gatehouse/pg/pool';
import type { AskedBy } from './consent-store.ts';

/** A ticket that can still be used. */
export interface StoredTicket {
  id: string;
  tenantId: string;
  subjectId: string;
  askedBy: AskedBy;
  details: Buffer | null;
  createdAt: Date;
}

const columns = `t.id, t.tenant_id as "tenantId", t.subject_id as "subjectId", t.asked_by as "askedBy", t.details, t.created_at as "createdAt"`;
const isOpen = 't.used_at is null and t.expires_at > now()';

/** The ticket with this digest, of whatever tenant; null if there is none, or it is used or over. */
export async function findTicket(
  pool: Pool,
  service: string,
  ticketSha256: Buffer,
): Promise<StoredTicket | null> {
  const { rows } = await pool.query<StoredTicket>(
    `select ${columns} from ${service}.consent_tickets as t where ticket_sha256 = $1 and ${isOpen}`,
    [ticketSha256],
  );
  return rows[0] ?? null;
}

/** The ticket of a consent that was begun with this state. */
export async function findTicketOfState(
  pool: Pool,
  service: string,
  stateSha256: Buffer,
): Promise<StoredTicket | null> {
  const { rows } = await pool.query<StoredTicket>(
    `select ${columns} from ${service}.consent_states as s
       join ${service}.consent_tickets as t on t.id = s.ticket_id
     where s.state_sha256 = $1 and ${isOpen}`,
    [stateSha256],
  );
  return rows[0] ?? null;
}

/** Deletes up to `limit` tickets whose time is over, with their states; returns how many. */
export async function deleteOldTickets(pool: Pool, service: string, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from ${service}.consent_tickets where id = any (array(
       select id from ${service}.consent_tickets where expires_at <= now() limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
