import type { Pool } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Requester } from './consent-store.ts';

/** A still usable ticket. */
export interface StoredTicket {
  id: string;
  tenantId: string;
  subjectId: string;
  askedBy: Requester;
  details: Buffer | null;
  createdAt: Date;
}

const columns = `t.id, t.tenant_id as "tenantId", t.subject_id as "subjectId", t.asked_by as "askedBy", t.details, t.created_at as "createdAt"`;
const isOpen = 't.used_at is null and t.expires_at > now()';

/** By the hexadecimal digest of its ticket or state. */
export type TicketWithDigest = StoredTicket & { digest: string };

/** The tickets with these digests, of whatever tenants, unless used or over. */
export async function findTickets(
  pool: Pool,
  service: string,
  digests: readonly string[],
): Promise<TicketWithDigest[]> {
  return pool.all<TicketWithDigest>(
    `select encode(t.ticket_sha256, 'hex') as digest, ${columns} from ${service}.consent_tickets as t
     where t.ticket_sha256 = any ($1::bytea[]) and ${isOpen}`,
    [digests.map((digest) => Buffer.from(digest, 'hex'))],
  );
}

/** The tickets of consents begun with states of these digests. */
export async function findTicketsOfStates(
  pool: Pool,
  service: string,
  digests: readonly string[],
): Promise<TicketWithDigest[]> {
  return pool.all<TicketWithDigest>(
    `select encode(s.state_sha256, 'hex') as digest, ${columns} from ${service}.consent_states as s
       join ${service}.consent_tickets as t on t.id = s.ticket_id
     where s.state_sha256 = any ($1::bytea[]) and ${isOpen}`,
    [digests.map((digest) => Buffer.from(digest, 'hex'))],
  );
}

/** Expired tickets. Their states go with them. */
export function oldTickets(service: string): OldRows {
  return { table: `${service}.consent_tickets`, key: 'id', where: 'expires_at <= now()' };
}
