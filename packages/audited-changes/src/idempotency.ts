import {
  idempotencyKeyHeader,
  type Claim,
  type KeyedRequest,
  type RepeatGuard,
} from '@gatehouse/http/idempotency-key';
import type { Reply } from '@gatehouse/http/reply';
import type { PeriodicWork } from '@gatehouse/kit/background-loop';
import { AppError, errorBody, toAppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { sealedTexts, type SealedTexts } from '@gatehouse/secrets/sealed-texts';
import {
  IdempotencySystemStore,
  oldRecords,
  type IdempotencyStoreOptions,
  type KnownUse,
} from './store/idempotency-system-store.ts';

const replayedHeader = 'idempotency-replayed';

/** A complete response, as stored and replayed. */
export interface StoredReply extends Reply {
  status: number;
}

export interface IdempotencyOptions extends IdempotencyStoreOptions {
  /** Encrypts stored responses, because some contain the text of an API key. */
  keyRing: KeyRing;
  log: Logger;
}

/** Between two renewals of a claim; claims last a minute. */
const renewMs = 15_000;

/**
 * Makes each request with an `Idempotency-Key` take effect once, with any number of repeats to any replica, and after
 * crashes: a claim in the database marks a running request, and its response is committed together with its effect.
 */
export class Idempotency implements RepeatGuard {
  readonly #store: IdempotencySystemStore;
  readonly #replies: SealedTexts<SealedClaim>;
  readonly #log: Logger;
  /** Deletes expired records. */
  readonly parts: PeriodicWork[];

  constructor(options: IdempotencyOptions) {
    this.#store = new IdempotencySystemStore(options);
    this.#replies = sealedTexts(options.keyRing, contextOfReply(options.service));
    this.#log = options.log;
    this.parts = cleanUp(options.log, options.system, [oldRecords(options.service)]);
  }

  /**
   * Returns the reply of `work`, or the stored one. `work` must call `store` in the transaction of its effect. Throws
   * `idempotency_key_reused`, `idempotency_in_progress` and the errors of `work`. Errors a repeat would get again are
   * stored and replayed; after internal and temporary errors the key can be used again.
   */
  async once(request: KeyedRequest, work: (claim: Claim) => Promise<Reply>): Promise<Reply> {
    const claim = { id: newId(), request, answered: false };
    const known = await this.#store.claim({ ...request, fingerprint: claimFingerprint(request) }, claim.id);
    if (known !== null) return this.#repeat(request, known);
    try {
      const reply = await work(claim);
      if (!claim.answered) throw new Error('the response was not stored with the effect');
      return reply;
    } catch (error) {
      await this.#settle(claim, error);
      throw error;
    }
  }

  /**
   * Stores the response of a claimed request. Throws when a repeat has taken over the claim, to roll back the effect.
   */
  async store(db: Queryable, claim: Claim, answer: StoredReply): Promise<void> {
    const fingerprint = knownFingerprint(claim.request);
    if (fingerprint === null) throw new Error('the response was stored before the end of the body');
    const response = this.#replies.seal(claim, JSON.stringify(answer));
    if (!(await this.#store.complete(db, { id: claim.id, fingerprint, response }))) throw takenOver();
    claim.answered = true;
  }

  /** Runs `work`, which may take longer than the minute for which a claim is made, and keeps the claim meanwhile. */
  async during<Result>(claim: Claim | null, work: () => Promise<Result>): Promise<Result> {
    if (claim === null) return work();
    const { id, request } = claim;
    const renewing = setInterval(() => {
      // `store` notices a claim taken over by a repeat, and rolls the effect back.
      this.#store.renew(request.tenantId, id).catch((error: unknown) => {
        const about = { err: error, request_id: request.requestId };
        this.#log.warn(about, 'failed to renew the claim of an idempotency key');
      });
    }, renewMs);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
    }
  }

  async #repeat(request: KeyedRequest, known: KnownUse): Promise<Reply> {
    if (!(await isRepeat(request, known))) {
      throw new AppError(
        'idempotency_key_reused',
        `This ${idempotencyKeyHeader} was used for another request.`,
        {
          param: idempotencyKeyHeader,
        },
      );
    }
    if (known.response === null) {
      throw inProgress(
        `A request with this ${idempotencyKeyHeader} is still in progress. Try again shortly.`,
      );
    }
    const answer = JSON.parse(this.#replies.open({ id: known.id, request }, known.response)) as StoredReply;
    return { ...answer, headers: { ...answer.headers, [replayedHeader]: 'true' } };
  }

  /** Ends the claim of a request without effect. If this fails too, the claim expires later. */
  async #settle(claim: Claim, error: unknown): Promise<void> {
    const { id, request } = claim;
    const known = toAppError(error);
    const { status, headers } = known;
    try {
      const fingerprint = knownFingerprint(request);
      if (isFinal(known) && fingerprint !== null) {
        const answer = { status, headers, body: errorBody(known, request.requestId) };
        const response = this.#replies.seal(claim, JSON.stringify(answer));
        await this.#store.completeAlone(request.tenantId, { id, fingerprint, response });
      } else {
        await this.#store.release(request.tenantId, id);
      }
    } catch (failure) {
      this.#log.warn(
        { err: failure, request_id: request.requestId },
        'failed to release an idempotency key; it stays claimed until it expires',
      );
    }
  }
}

/** A claim as far as the encryption of its reply knows it. */
interface SealedClaim {
  id: string;
  request: Pick<KeyedRequest, 'tenantId'>;
}

/** The context of a stored reply. The same in all releases: it also opens replies stored by another one. */
export function contextOfReply(service: string): (claim: SealedClaim) => string {
  return ({ id, request }) => `${request.tenantId ?? 'owner'}/${service}.idempotency_records/response/${id}`;
}

/** Marks the claim of a request with a fingerprint still unknown. */
const unknownFingerprint = Buffer.alloc(32);

function claimFingerprint(request: KeyedRequest): Buffer {
  return knownFingerprint(request) ?? unknownFingerprint;
}

function knownFingerprint({ fingerprint }: KeyedRequest): Buffer | null {
  return Buffer.isBuffer(fingerprint) ? fingerprint : fingerprint.known;
}

/** Whether a request may be the same as an earlier one. Reads its body only if the earlier one is complete. */
async function isRepeat({ fingerprint }: KeyedRequest, known: KnownUse): Promise<boolean> {
  if (known.fingerprint.equals(unknownFingerprint)) return true;
  return known.fingerprint.equals(Buffer.isBuffer(fingerprint) ? fingerprint : await fingerprint.rest());
}

/** Whether a repeat would get the same error: not for server errors, nor if another key or a later time may help. */
function isFinal({ code, status }: AppError): boolean {
  if (code === 'idempotency_in_progress') return false;
  return status < 499 && status !== 401 && status !== 403 && status !== 429;
}

function inProgress(message: string): AppError {
  return new AppError('idempotency_in_progress', message, {
    param: idempotencyKeyHeader,
    headers: { 'retry-after': '1' },
  });
}

function takenOver(): AppError {
  return inProgress('The request took too long and a repeat has replaced it. It had no effect.');
}
