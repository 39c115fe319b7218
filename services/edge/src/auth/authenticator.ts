import type { IncomingMessage } from 'node:http';
import type { Principal } from '@gatehouse/identity/principal';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { NamedKey } from '../shared/named-key.ts';
import { KeyReader, type CarriedKey } from './key-reader.ts';
import { invalidSession, type CarriedSession } from './session-reader.ts';

/** A key or session as the tenant service returns it; null for an unknown one, and for an ended session. */
export type Checked = AcceptedKey | RejectedKey | null;

/** A revoked or expired key of a tenant, whose secret was right. */
interface RejectedKey {
  rejected: NamedKey;
}

interface AcceptedKey {
  principal: Principal;
  tenantStatus: string;
  expiresAtMs: number;
  /** Key and tenant, by their names in the tenant service's lists of changes; null where these don't cover it. */
  subjects: readonly string[] | null;
}

/** Ids of the request with a key or session. */
export interface RequestIds {
  requestId: string;
  trace: TraceContext;
}

/** The same, which gets the key once its secret is known to be right, also if the key is refused. */
export interface KeyRequest extends RequestIds {
  key: NamedKey | null;
}

/** Service with the keys and sessions. */
export interface KeySource {
  readonly reachable: boolean;
  /** `known`: whether it has accepted the key before; likewise below. */
  checkKey(key: CarriedKey, known: boolean, ids: RequestIds): Promise<Checked>;
  checkSession(session: CarriedSession, known: boolean, ids: RequestIds): Promise<Checked>;
  isOutage(error: unknown): boolean;
}

export interface AuthenticatorOptions {
  source: KeySource;
  /** The network of the client, for turns at look-ups. */
  networkOf: (request: IncomingMessage) => string;
  /** The changes of keys and tenants. */
  changes: ChangeWatch;
}

/**
 * Authenticates API keys and sessions with the tenant service. Results are cached for 3 s, and those of keys for 5 min
 * while the watch knows them to be unchanged, so a revocation takes effect within 5 s. During an outage of the tenant
 * service or its database, those authenticated in the last 5 min stay valid and others get 503, never 401.
 *
 * Clients can make up any number of texts of keys. So networks take turns at look-ups of everything not accepted
 * before, and a known key never waits for these.
 */
export class Authenticator {
  readonly #source: KeySource;
  readonly #networkOf: AuthenticatorOptions['networkOf'];
  readonly #keys = new KeyReader();
  readonly #cache: OutageCache<Checked>;
  readonly #turns = new FairQueue(turnsOfNetworks);

  constructor({ source, networkOf, changes }: AuthenticatorOptions) {
    this.#source = source;
    this.#networkOf = networkOf;
    this.#cache = new OutageCache<Checked>({
      max: 50_000,
      freshMs: 3_000,
      outageMs: 5 * 60_000,
      isOutage: (error) => source.isOutage(error),
      survivesOutage: (checked) => acceptedOf(checked) !== null,
      watch: {
        changes,
        longestMs: 5 * 60_000,
        subjectsOf: (checked) => acceptedOf(checked)?.subjects ?? null,
      },
    });
  }

  /** Whether keys can be authenticated now, at least those in the cache. */
  get ready(): boolean {
    return this.#source.reachable || this.#cache.coversOutage;
  }

  /**
   * The principal behind an `Authorization` header; a promise only for a look-up. Throws `invalid_api_key`,
   * `tenant_suspended`, 429 or a 503.
   */
  authenticate(
    authorization: string | undefined,
    request: IncomingMessage,
    ids: KeyRequest,
  ): Principal | Promise<Principal> {
    const key = this.#keys.read(authorization, request.socket);
    if (key === null) throw invalidKey();
    const checked = this.#cache.peek(key.fingerprint);
    if (checked !== undefined) return principalOf(checked, ids, invalidKey);
    const check = (known: boolean): Promise<Checked> => this.#source.checkKey(key, known, ids);
    return this.#lookUp(key.fingerprint, request, check).then((result) =>
      principalOf(result, ids, invalidKey),
    );
  }

  /** The principal behind a session. Throws `invalid_session`, `tenant_suspended`, 429 or a 503. */
  async authenticateSession(
    session: CarriedSession,
    request: IncomingMessage,
    ids: KeyRequest,
  ): Promise<Principal> {
    const check = (known: boolean): Promise<Checked> => this.#source.checkSession(session, known, ids);
    return principalOf(await this.#lookUp(session.fingerprint, request, check), ids, invalidSession);
  }

  #lookUp(
    fingerprint: string,
    request: IncomingMessage,
    check: (known: boolean) => Promise<Checked>,
  ): Promise<Checked> {
    const network = (): string => this.#networkOf(request);
    return this.#cache.get(fingerprint, () =>
      this.#cache.knows(fingerprint) ? check(true) : this.#turns.run(network(), () => check(false)),
    );
  }
}

/** At 5 ms each, a network has 6,000 look-ups a second, and all together 25,000. */
const turnsOfNetworks = {
  ...{ slots: 128, perKey: 32, maxWaiting: 1_000, maxWaitingOfAll: 2_000 },
  longestWait: { ms: 2_000, error: tooManyLookups },
  tooMany: tooManyLookups,
};

/** 503: a client with a good key can repeat its request, and no limit of its own is reached. */
function tooManyLookups(): AppError {
  return new AppError(
    'service_unavailable',
    'Too many unknown API keys are being checked. Try again in 1 s.',
    { retryAfterMs: 1_000 },
  );
}

function acceptedOf(checked: Checked): AcceptedKey | null {
  return checked === null || 'rejected' in checked ? null : checked;
}

function principalOf(checked: Checked, request: KeyRequest, invalid: () => AppError): Principal {
  if (checked === null) throw invalid();
  request.key = 'rejected' in checked ? checked.rejected : checked.principal;
  if ('rejected' in checked || checked.expiresAtMs <= Date.now()) throw invalid();
  assertTenantActive(checked.tenantStatus);
  return checked.principal;
}

/** Error for a request without a key. `others`: the headers that carry one besides `Authorization`. */
export function missingKey(others: readonly string[]): AppError {
  const headers = ['Authorization: Bearer', ...others.map((name) => `${name}:`)];
  return new AppError(
    'invalid_api_key',
    `The request has no API key. Send it as ${headers.map((header) => `"${header} gwk_..."`).join(' or ')}.`,
  );
}

function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is malformed, unknown, expired or revoked.');
}
