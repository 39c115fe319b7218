import type { Role } from '@gatehouse/contract/scopes';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';

/** The key and user behind a link, as the page names them. */
export interface Requester {
  tenant: string;
  key_id: string | null;
  user_id: string | null;
  role: Role;
}

export interface NewTicket {
  id: string;
  tenantId: string;
  /** The subject of the consent. */
  subjectId: string;
  ticketSha256: Buffer;
  askedBy: Requester;
  /** Encrypted: what the kind of consent keeps with the ticket. */
  details: Buffer | null;
}

/** A consent ready to begin. */
export interface NewState {
  stateSha256: Buffer;
  /** Encrypted. */
  state: Buffer | null;
  verifier: Buffer;
}

interface TicketRef {
  tenantId: string;
  id: string;
}

/** Links to consent pages, and begun consents, of one tenant at a time. */
export class ConsentStore extends Store {
  readonly #tickets: string;
  readonly #states: string;

  /** `pool` acts as `<service>_app`. */
  constructor(pool: Pool, service: string) {
    super(pool);
    this.#tickets = `${service}.consent_tickets`;
    this.#states = `${service}.consent_states`;
  }

  /** Stores a ticket with the state of the first browser to open it; returns when it ends. */
  async insert(
    db: Queryable,
    { id, tenantId, subjectId, ticketSha256, askedBy, details }: NewTicket,
    { first, minutes }: { first: NewState; minutes: number },
  ): Promise<Date> {
    const { expiresAt } = await db.one<{ expiresAt: Date }>(
      `insert into ${this.#tickets} (id, tenant_id, subject_id, ticket_sha256, asked_by, details, expires_at)
         values ($1, $2, $3, $4, $5, $6, now() + make_interval(mins => $7)) returning expires_at as "expiresAt"`,
      [id, tenantId, subjectId, ticketSha256, JSON.stringify(askedBy), details, minutes],
    );
    await this.#insertState(db, { tenantId, id }, first);
    return expiresAt;
  }

  /** Takes the state made with the ticket, for the first browser; null if one has it. */
  async takeFirstState({ tenantId, id }: TicketRef): Promise<NewState | null> {
    return this.tenant(tenantId).first<NewState>(
      `with first as (select state_sha256, state from ${this.#states}
           where ticket_id = $1 and state is not null limit 1 for update)
         update ${this.#states} as s set state = null from first
         where s.state_sha256 = first.state_sha256
         returning s.state_sha256 as "stateSha256", first.state, s.verifier`,
      [id],
    );
  }

  /** Adds a state for a further browser; nothing beyond `most` of a ticket. Returns whether it was added. */
  async addState({ tenantId, id }: TicketRef, state: NewState, most: number): Promise<boolean> {
    return withTenant(this.pool, tenantId, async (db) => {
      await db.query(`select from ${this.#tickets} where id = $1 for no key update`, [id]);
      const rows = await db.all(`select from ${this.#states} where ticket_id = $1`, [id]);
      if (rows.length >= most) return false;
      await this.#insertState(db, { tenantId, id }, state);
      return true;
    });
  }

  /** Uses a ticket up. Returns false if it was used or is over: another consent came first. */
  async useTicket({ tenantId, id }: TicketRef): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `update ${this.#tickets} set used_at = now() where id = $1 and used_at is null and expires_at > now()`,
      [id],
    );
  }

  /** Makes a ticket usable again, because its consent came to nothing. */
  async releaseTicket({ tenantId, id }: TicketRef): Promise<void> {
    await this.tenant(tenantId).query(`update ${this.#tickets} set used_at = null where id = $1`, [id]);
  }

  /** Uses a state up. Returns its verifier; null if another request has done so. */
  async useState({ tenantId }: Pick<TicketRef, 'tenantId'>, stateSha256: Buffer): Promise<Buffer | null> {
    return withTenant(this.pool, tenantId, async (db) => {
      return (
        (
          await db.first<{ verifier: Buffer }>(
            `delete from ${this.#states} where state_sha256 = $1 returning verifier`,
            [stateSha256],
          )
        )?.verifier ?? null
      );
    });
  }

  async #insertState(
    db: Queryable,
    { tenantId, id }: TicketRef,
    { stateSha256, state, verifier }: NewState,
  ): Promise<void> {
    await db.query(
      `insert into ${this.#states} (state_sha256, tenant_id, ticket_id, state, verifier)
       values ($1, $2, $3, $4, $5)`,
      [stateSha256, tenantId, id, state, verifier],
    );
  }
}
