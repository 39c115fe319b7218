import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '@gatehouse/identity/principal';
import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { AppError, errorBody, toAppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import {
  IdempotencySystemStore,
  type IdempotencyStoreOptions,
  type KeyUse,
  type KnownUse,
} from './store/idempotency-system-store.ts';

const header = 'idempotency-key';
const shownHeader = 'Idempotency-Key';
const replayedHeader = 'idempotency-replayed';

/** A request that may be a repeat. */
export interface KeyedRequest extends KeyUse, Pick<KnownUse, 'fingerprint'> {
  requestId: string;
}

/** A whole answer, as it is kept and sent again. */
export interface Answer {
  status: number;
  headers?: Record<string, string> | undefined;
  body?: unknown;
}

/** Keeps the answer of the request that has a key to itself, in the transaction of its effect. */
export type KeepAnswer = (db: Queryable, answer: Answer) => Promise<void>;

export interface IdempotencyOptions extends IdempotencyStoreOptions {
  /** Seals the answers: some hold the text of an API key. */
  keyRing: KeyRing;
  log: Logger;
}

/** The key that a request was sent with; null for none. Throws a 400 for more than one, and for what can't be one. */
export function idempotencyKeyOf(request: IncomingMessage): string | null {
  const values = request.headersDistinct[header];
  if (values === undefined) return null;
  const [value] = values;
  if (values.length === 1 && value !== undefined && /^[\x20-\x7e]{1,255}$/.test(value)) return value;
  throw new AppError(
    'invalid_value',
    `${shownHeader} must be sent once, with 1 to 255 printable ASCII characters.`,
    { param: shownHeader },
  );
}

/**
 * SHA-256 of what a repeat must have in common with the first request. The API key is part of it, so that an answer
 * with a secret goes to nobody but the key that asked for it.
 */
export function fingerprintOf(
  principal: Pick<Principal, 'keyId' | 'actingUser'>,
  { url, body }: { url: string; body: Buffer },
): Buffer {
  const who = JSON.stringify([principal.keyId, principal.actingUser, url]);
  return createHash('sha256').update(who).update(body).digest();
}

/** SHA-256 of where a key counts: the route and the parameters in its path. */
export function targetOf(routeId: string, params: Record<string, string>): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([routeId, params]))
    .digest();
}

const removal = { firstMs: 60_000, everyMs: 600_000, batchSize: 200, pauseMs: 100 };

/**
 * Requests that take effect once however often they are sent, to whichever replica, and whatever dies: a claim in the
 * database while one runs, and its answer committed together with its effect.
 */
export class Idempotency {
  readonly #store: IdempotencySystemStore;
  readonly #service: string;
  readonly #keyRing: KeyRing;
  readonly #log: Logger;
  readonly #removing = new BackgroundLoop(() => this.#removeSome());

  constructor(options: IdempotencyOptions) {
    this.#store = new IdempotencySystemStore(options);
    this.#service = options.service;
    this.#keyRing = options.keyRing;
    this.#log = options.log;
  }

  /** Begins to remove records that have expired. */
  start(): void {
    this.#removing.start(jittered(removal.firstMs));
  }

  async stop(): Promise<void> {
    await this.#removing.stop();
  }

  /**
   * The answer of `work`, or the one it gave before. `work` must keep its answer in the transaction of its effect.
   * Throws `idempotency_key_reused`, `idempotency_in_progress`, and what `work` throws; a refusal of the request is
   * kept like an answer, while a failure of ours, or one that passes by itself, leaves the key free.
   */
  async once<Result extends Omit<Answer, 'status'>>(
    request: KeyedRequest,
    work: (keep: KeepAnswer) => Promise<Result>,
  ): Promise<Result | Answer> {
    const id = newId();
    const known = await this.#store.claim(request, { id, fingerprint: request.fingerprint });
    if (known !== null) return this.#repeat(request, known);
    const outcome = { kept: false };
    try {
      const result = await work(async (db, answer) => {
        if (!(await this.#store.complete(db, id, this.#seal(request, id, answer)))) throw takenOver();
        outcome.kept = true;
      });
      if (!outcome.kept) throw new Error('the answer was not kept along with the effect');
      return result;
    } catch (error) {
      await this.#settle(request, id, error);
      throw error;
    }
  }

  #repeat(request: KeyedRequest, known: KnownUse): Answer {
    if (!known.fingerprint.equals(request.fingerprint)) {
      throw new AppError('idempotency_key_reused', `This ${shownHeader} was used for another request.`, {
        param: shownHeader,
      });
    }
    if (known.response === null) {
      throw inProgress(`A request with this ${shownHeader} is still running. Try again shortly.`);
    }
    const answer = this.#open(request, known.id, known.response);
    return { ...answer, headers: { ...answer.headers, [replayedHeader]: 'true' } };
  }

  /** Ends a claim whose effect did not come about. When that fails too, the claim ends by itself. */
  async #settle(request: KeyedRequest, id: string, error: unknown): Promise<void> {
    const known = toAppError(error);
    const { status, headers } = known;
    try {
      if (isFinal(status)) {
        const answer = { status, headers, body: errorBody(known, request.requestId) };
        await this.#store.completeAlone(request.tenantId, id, this.#seal(request, id, answer));
      } else {
        await this.#store.release(request.tenantId, id);
      }
    } catch (failure) {
      this.#log.warn({ err: failure, request_id: request.requestId }, 'an idempotency key stays claimed');
    }
  }

  #seal(request: KeyedRequest, id: string, answer: Answer): Buffer {
    return this.#keyRing.seal(Buffer.from(JSON.stringify(answer)), this.#context(request, id));
  }

  #open(request: KeyedRequest, id: string, sealed: Buffer): Answer {
    return JSON.parse(this.#keyRing.open(sealed, this.#context(request, id)).toString()) as Answer;
  }

  #context({ tenantId }: KeyedRequest, id: string): string {
    return `${tenantId ?? 'owner'}/${this.#service}.idempotency_records/response/${id}`;
  }

  /** One batch; returns how long to wait for the next. */
  async #removeSome(): Promise<number> {
    try {
      const removed = await this.#store.removeExpired(removal.batchSize);
      return removed === removal.batchSize ? removal.pauseMs : jittered(removal.everyMs);
    } catch (error) {
      this.#log.warn({ err: error }, 'expired idempotency records could not be removed; it is tried again');
      return jittered(removal.everyMs);
    }
  }
}

/** Whether the same request will be refused again: not for a failure, nor for what another key or time changes. */
function isFinal(status: number): boolean {
  return status < 499 && status !== 401 && status !== 403 && status !== 429;
}

function inProgress(message: string): AppError {
  return new AppError('idempotency_in_progress', message, {
    param: shownHeader,
    headers: { 'retry-after': '1' },
  });
}

function takenOver(): AppError {
  return inProgress('The request took so long that a repeat has taken its place. It had no effect.');
}
