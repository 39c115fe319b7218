import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type { Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { loginLinkSeconds } from '../bounds.ts';

export const oldLoginTickets: OldRows = {
  ...{ table: 'tenant.login_tickets', key: 'ticket_sha256', where: 'expires_at <= now()' },
};

/** The key of a link: the public half of its text, and its secret, which must be unchanged. */
export interface KeyOfTicket {
  keyId: string;
  secretSha256: Buffer;
}

/** A key as the entry of a link names it. */
interface KeyOfLink {
  id: string;
  name: string;
  tenantId: string | null;
}

/** Inserts a ticket for an active key, by the public half of its text. False if there is no active key of this text. */
export async function insertLoginTicket(
  db: Queryable,
  ticketSha256: Buffer,
  keyId: string,
): Promise<boolean> {
  return db.exists(
    `insert into tenant.login_tickets (ticket_sha256, key_id, secret_sha256, expires_at)
     select $1::bytea, key_id, secret_sha256, now() + make_interval(secs => $3) from tenant.api_keys
     where key_id = $2 and tenant.api_key_status(api_keys) in ('active', 'expiring')`,
    [ticketSha256, keyId, loginLinkSeconds],
  );
}

/** The key of a link, by the public half of its text. */
export async function findKeyOfLink(db: Queryable, keyId: string): Promise<KeyOfLink | null> {
  return db.first<KeyOfLink>(
    'select id, name, tenant_id as "tenantId" from tenant.api_keys where key_id = $1',
    [keyId],
  );
}

/** The entry of a link, in the audit log of owners: it is the operator's, and no key has made it. */
export function linkCreated({ id, name, tenantId }: KeyOfLink): Change {
  const after = { key_id: id, name, tenant_id: tenantId };
  return { action: 'login_link.created', id, tenantId: null, before: null, after };
}

/** Links for one login each, of all tenants and of owners. `pool` acts as `tenant_system`. */
export class LoginTicketSystemStore extends Store {
  /** Uses tickets up, by their hexadecimal hashes. Null for used or expired ones. */
  async take(hashes: readonly string[]): Promise<(KeyOfTicket | null)[]> {
    const rows = await this.pool.all<KeyOfTicket & { ticketSha256: string }>(
      `delete from tenant.login_tickets where ticket_sha256 = any($1) and expires_at > now()
       returning encode(ticket_sha256, 'hex') as "ticketSha256", key_id as "keyId", secret_sha256 as "secretSha256"`,
      [hashes.map((hash) => Buffer.from(hash, 'hex'))],
    );
    const taken = new Map(rows.map((row) => [row.ticketSha256, row]));
    // One of several requests with the same ticket gets it.
    return hashes.map((hash) => {
      const ticket = taken.get(hash) ?? null;
      taken.delete(hash);
      return ticket;
    });
  }
}
