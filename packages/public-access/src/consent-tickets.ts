import type { PeriodicWork } from '@gatehouse/kit/background-loop';
import { batchedFinder } from '@gatehouse/kit/batched';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import type { Pool, Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { sealedTexts, type SealedTexts } from '@gatehouse/secrets/sealed-texts';
import { ConsentStore, type Requester, type NewState } from './store/consent-store.ts';
import {
  findTickets,
  findTicketsOfStates,
  oldTickets,
  type TicketWithDigest,
  type StoredTicket,
} from './store/consent-system-store.ts';

export type { Requester as AskedBy } from './store/consent-store.ts';

/** How long a link and its state are valid. */
export const consentMinutes = 10;

/** A browser may press the button again; not for ever. */
const maxStates = 20;

/** A link to a consent page. */
export interface ConsentLink {
  /** In the URL of the page. Shown once: its digest is stored. */
  ticket: string;
  /** For the first browser. */
  state: string;
  expiresAt: Date;
}

/** The subject of a consent, and the key and user asking for it. */
export interface ConsentOf {
  tenantId: string;
  subjectId: string;
  askedBy: Requester;
  /** Kept with the ticket. Stored encrypted. */
  details?: string;
}

/** A still usable ticket. */
export interface OpenTicket extends Omit<StoredTicket, 'details'> {
  details: string | null;
}

type Ref = Pick<OpenTicket, 'tenantId' | 'id'>;

export interface ConsentTicketsOptions {
  /** Its schema has the tables `consent_tickets` and `consent_states`. */
  service: string;
  /** Pools of `<service>_app` and `<service>_system`. */
  app: Pool;
  system: Pool;
  keyRing: KeyRing;
  log: Logger;
}

/**
 * Makes tickets, states and verifiers of PKCE. Only digests and encrypted texts of them are stored, which open nothing.
 */
export class ConsentTickets {
  readonly #store: ConsentStore;
  readonly #texts: SealedTexts<Ref>;
  readonly #findTicket: (digest: string) => Promise<TicketWithDigest | null>;
  readonly #findTicketOfState: (digest: string) => Promise<TicketWithDigest | null>;
  /** Deletes old tickets. */
  readonly parts: PeriodicWork[];

  constructor(options: ConsentTicketsOptions) {
    const { app, system, service, keyRing, log } = options;
    this.#texts = sealedTexts(keyRing, ({ tenantId, id }) => `${tenantId}/${service}.consent_tickets/${id}`);
    const byDigest = ({ digest }: TicketWithDigest): string => digest;
    this.#findTicket = batchedFinder((digests) => findTickets(system, service, digests), byDigest);
    this.#findTicketOfState = batchedFinder(
      (digests) => findTicketsOfStates(system, service, digests),
      byDigest,
    );
    this.#store = new ConsentStore(app, service);
    this.parts = cleanUp(log, system, [oldTickets(service)]);
  }

  /** A new link, stored in a transaction of the tenant. */
  async make(db: Queryable, { tenantId, subjectId, askedBy, details }: ConsentOf): Promise<ConsentLink> {
    const [ref, ticket, state] = [{ tenantId, id: newId() }, newRandomToken(), newRandomToken()];
    const sealed = details === undefined ? null : this.#texts.seal(ref, details);
    const stored = { ...ref, subjectId, ticketSha256: tokenSha256(ticket), askedBy, details: sealed };
    const first = this.#newState(ref, state);
    const expiresAt = await this.#store.insert(db, stored, { first, minutes: consentMinutes });
    return { ticket, state, expiresAt };
  }

  /** The ticket of whatever tenant; null if it is unknown, used or over. */
  async find(ticket: string): Promise<OpenTicket | null> {
    return this.#opened(await this.#findTicket(tokenSha256(ticket).toString('hex')));
  }

  /** The ticket of a consent begun with this state. */
  async findOfState(state: string): Promise<OpenTicket | null> {
    return this.#opened(await this.#findTicketOfState(tokenSha256(state).toString('hex')));
  }

  /** A state for a consenting browser, with the verifier; null if a ticket was used too often. */
  async begin(ticket: Ref): Promise<{ state: string; verifier: string } | null> {
    const first = await this.#store.takeFirstState(ticket);
    if (first !== null && first.state !== null)
      return {
        state: this.#texts.open(ticket, first.state),
        verifier: this.#texts.open(ticket, first.verifier),
      };
    const state = newRandomToken();
    const further = { ...this.#newState(ticket, state), state: null };
    if (!(await this.#store.addState(ticket, further, maxStates))) return null;
    return { state, verifier: this.#texts.open(ticket, further.verifier) };
  }

  /** Uses a state up. Returns its verifier; null if it was used. */
  async finish(ticket: Ref, state: string): Promise<string | null> {
    const verifier = await this.#store.useState(ticket, tokenSha256(state));
    return verifier === null ? null : this.#texts.open(ticket, verifier);
  }

  /**
   * Uses a ticket up for what `exchange` does with the provider's code. While it runs no other consent of the ticket is
   * exchanged; if it fails or throws, the ticket is good again. Null if another consent came first.
   */
  async use<Exchanged>(ticket: Ref, exchange: () => Promise<Exchanged>): Promise<Exchanged | null> {
    if (!(await this.#store.useTicket(ticket))) return null;
    try {
      return await exchange();
    } catch (error) {
      await this.#store.releaseTicket(ticket);
      throw error;
    }
  }

  #newState(ticket: Ref, state: string): NewState {
    return {
      stateSha256: tokenSha256(state),
      state: this.#texts.seal(ticket, state),
      verifier: this.#texts.seal(ticket, newRandomToken()),
    };
  }

  #opened(stored: StoredTicket | null): OpenTicket | null {
    if (stored === null) return null;
    return { ...stored, details: stored.details === null ? null : this.#texts.open(stored, stored.details) };
  }
}
