import { createHash, randomBytes } from 'node:crypto';
import { consentMinutes } from '@gatehouse/contract/channel-consents';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { AskedBy, ConsentStore, NewState, NewTicket } from '../store/consent-store.ts';
import { insertTicket } from '../store/consent-store.ts';

/** A browser may press the button again; not for ever. */
const maxStates = 20;

/** A link to a consent page. */
export interface ConsentLink {
  /** In the URL of the page. Shown once: its digest is stored. */
  ticket: string;
  /** That the first browser gets. */
  state: string;
  expiresAt: Date;
}

/** A channel, and the key and user that ask for its consent. */
export interface ConsentOf {
  tenantId: string;
  instanceId: string;
  askedBy: AskedBy;
}

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const newToken = (): string => randomBytes(32).toString('base64url');

/** Makes tickets, states and verifiers of PKCE. What is stored of them opens nothing: digests, and encrypted texts. */
export class Consents {
  readonly #store: ConsentStore;
  readonly #keyRing: KeyRing;

  constructor(store: ConsentStore, keyRing: KeyRing) {
    this.#store = store;
    this.#keyRing = keyRing;
  }

  /** A new link, stored in a transaction of the tenant. */
  async make(db: Queryable, { tenantId, instanceId, askedBy }: ConsentOf): Promise<ConsentLink> {
    const [id, ticket, state] = [newId(), newToken(), newToken()];
    const stored: NewTicket = { id, tenantId, instanceId, ticketSha256: sha256(ticket), askedBy };
    const first = this.#sealed({ tenantId, id }, state);
    const expiresAt = await insertTicket(db, stored, { first, minutes: consentMinutes });
    return { ticket, state, expiresAt };
  }

  /** A state for a browser that consents, with the verifier; null if a ticket was used too often. */
  async begin(ticket: { tenantId: string; id: string }): Promise<{ state: string; verifier: string } | null> {
    const first = await this.#store.takeFirstState(ticket);
    if (first !== null && first.state !== null)
      return { state: this.#open(ticket, first.state), verifier: this.#open(ticket, first.verifier) };
    const state = newToken();
    const further = { ...this.#sealed(ticket, state), state: null };
    if (!(await this.#store.addState(ticket, further, maxStates))) return null;
    return { state, verifier: this.#open(ticket, further.verifier) };
  }

  /** Uses a state up. Returns its verifier; null if it was used. */
  async finish(ticket: { tenantId: string; id: string }, state: string): Promise<string | null> {
    const verifier = await this.#store.useState(ticket, sha256(state));
    return verifier === null ? null : this.#open(ticket, verifier);
  }

  #sealed(ticket: { tenantId: string; id: string }, state: string): NewState {
    // 43 characters, as Zalo wants it.
    const verifier = newToken();
    const seal = (text: string): Buffer => this.#keyRing.seal(Buffer.from(text), contextOf(ticket));
    return { stateSha256: sha256(state), state: seal(state), verifier: seal(verifier) };
  }

  #open(ticket: { tenantId: string; id: string }, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOf(ticket)).toString();
  }
}

function contextOf({ tenantId, id }: { tenantId: string; id: string }): string {
  return `${tenantId}/webhook.consent_tickets/${id}`;
}
