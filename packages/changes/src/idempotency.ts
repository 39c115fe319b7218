import {
  idempotencyKeyHeader,
  type Claim,
  type KeyedRequest,
  type RepeatGuard,
} from '@gatehouse/http/idempotency-key';
import type { Reply } from '@gatehouse/http/reply';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { AppError, errorBody, toAppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import {
  IdempotencySystemStore,
  type IdempotencyStoreOptions,
  type KnownUse,
} from './store/idempotency-system-store.ts';

const replayedHeader = 'idempotency-replayed';

/** A whole answer, as it is stored and sent again. */
export interface Answer extends Reply {
  status: number;
}

export interface IdempotencyOptions extends IdempotencyStoreOptions {
  /** Encrypts the answers: some hold the text of an API key. */
  keyRing: KeyRing;
  log: Logger;
}

const deletion = { firstMs: 60_000, everyMs: 600_000, batchSize: 200 };

/**
 * Makes requests take effect once however often they are sent, to any replica, and whatever dies: a claim in the
 * database while a request runs, and its answer committed together with its effect.
 */
export class Idempotency implements RepeatGuard {
  readonly #store: IdempotencySystemStore;
  readonly #service: string;
  readonly #keyRing: KeyRing;
  readonly #log: Logger;
  readonly #deleting: PeriodicWork;

  constructor(options: IdempotencyOptions) {
    this.#store = new IdempotencySystemStore(options);
    this.#service = options.service;
    this.#keyRing = options.keyRing;
    this.#log = options.log;
    const { firstMs, everyMs, batchSize } = deletion;
    this.#deleting = new PeriodicWork({
      task: 'delete expired idempotency records',
      log: options.log,
      firstMs,
      everyMs,
      round: async () => (await this.#store.removeExpired(batchSize)) === batchSize,
    });
  }

  /** Begins to delete expired records. */
  start(): void {
    this.#deleting.start();
  }

  async stop(): Promise<void> {
    await this.#deleting.stop();
  }

  /**
   * The answer of `work`, or the one it gave before. `work` must store its answer by `store`, in the transaction of its
   * effect. Throws `idempotency_key_reused`, `idempotency_in_progress`, and what `work` throws. A refused request is
   * refused the same way again; after a failure of ours, or one that passes by itself, the key is free.
   */
  async once(request: KeyedRequest, work: (claim: Claim) => Promise<Reply>): Promise<Reply> {
    const claim = { id: newId(), request, answered: false };
    const known = await this.#store.claim(request, claim.id);
    if (known !== null) return this.#repeat(request, known);
    try {
      const reply = await work(claim);
      if (!claim.answered) throw new Error('the answer was not stored with the effect');
      return reply;
    } catch (error) {
      await this.#settle(claim, error);
      throw error;
    }
  }

  /** Stores the answer of a claimed request. Throws when a repeat has taken the claim over: the effect must roll back. */
  async store(db: Queryable, claim: Claim, answer: Answer): Promise<void> {
    if (!(await this.#store.complete(db, claim.id, this.#seal(claim, answer)))) throw takenOver();
    claim.answered = true;
  }

  #repeat(request: KeyedRequest, known: KnownUse): Reply {
    if (!known.fingerprint.equals(request.fingerprint)) {
      throw new AppError(
        'idempotency_key_reused',
        `This ${idempotencyKeyHeader} was used for another request.`,
        {
          param: idempotencyKeyHeader,
        },
      );
    }
    if (known.response === null) {
      throw inProgress(`A request with this ${idempotencyKeyHeader} is still running. Try again shortly.`);
    }
    const answer = this.#open({ id: known.id, request }, known.response);
    return { ...answer, headers: { ...answer.headers, [replayedHeader]: 'true' } };
  }

  /** Ends a claim that had no effect. If that fails too, the claim expires by itself. */
  async #settle(claim: Claim, error: unknown): Promise<void> {
    const { id, request } = claim;
    const known = toAppError(error);
    const { status, headers } = known;
    try {
      if (isFinal(status)) {
        const answer = { status, headers, body: errorBody(known, request.requestId) };
        await this.#store.completeAlone(request.tenantId, id, this.#seal(claim, answer));
      } else {
        await this.#store.release(request.tenantId, id);
      }
    } catch (failure) {
      this.#log.warn({ err: failure, request_id: request.requestId }, 'an idempotency key stays claimed');
    }
  }

  #seal(claim: Pick<Claim, 'id' | 'request'>, answer: Answer): Buffer {
    return this.#keyRing.seal(Buffer.from(JSON.stringify(answer)), this.#context(claim));
  }

  #open(claim: Pick<Claim, 'id' | 'request'>, sealed: Buffer): Answer {
    return JSON.parse(this.#keyRing.open(sealed, this.#context(claim)).toString()) as Answer;
  }

  /** What the encryption is bound to. */
  #context({ id, request }: Pick<Claim, 'id' | 'request'>): string {
    return `${request.tenantId ?? 'owner'}/${this.#service}.idempotency_records/response/${id}`;
  }
}

/** Whether the same request will be refused again: not after a failure, nor where another key or time helps. */
function isFinal(status: number): boolean {
  return status < 499 && status !== 401 && status !== 403 && status !== 429;
}

function inProgress(message: string): AppError {
  return new AppError('idempotency_in_progress', message, {
    param: idempotencyKeyHeader,
    headers: { 'retry-after': '1' },
  });
}

function takenOver(): AppError {
  return inProgress('The request took so long that a repeat has taken its place. It had no effect.');
}
