import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { dialects } from '@gatehouse/dialects/dialects';
import {
  claimCompletion,
  noteAct,
  releaseCompletion,
  type CompletionClaim,
  type StoredCompletion,
} from './completion-store.ts';
import type { Instance } from '../recording/instance-job.ts';
import type { StoreAnswer } from '../runs/run.ts';
import { objectBytes } from '../bounds.ts';

export interface CompletionsOptions {
  /** The pool for tenants' requests. */
  app: Pool;
  instance: Pick<Instance, 'id'>;
  keyRing: KeyRing;
  log: Logger;
}

export interface CompletionCall {
  tenantId: string;
  userId: string | null;
  /** The caller's id of the call: a UUID. */
  callId: string;
  /** SHA-256 of the whole definition of the request. */
  fingerprint: Buffer;
  /** How long the call may take. */
  longestMs: number;
}

/**
 * Makes a call with an id one run, however often it is repeated: the answer is committed with the end of its run, and a
 * repeat gets it for 24 hours.
 */
export class CompletionCache {
  readonly #options: CompletionsOptions;

  constructor(options: CompletionsOptions) {
    this.#options = options;
  }

  /**
   * Returns the stored answer, or that of `work`. `work` must pass `store` on to the turn, and await `act` before
   * anything not to be repeated. Throws `idempotency_key_reused`, `idempotency_in_progress` and the errors of `work`,
   * after which a repeat works again; but `run_not_repeatable` once it has acted without coming to an answer.
   */
  async once(
    call: CompletionCall,
    work: (store: StoreAnswer, act: () => Promise<void>) => Promise<unknown>,
  ): Promise<CompleteResponse> {
    const { app, instance } = this.#options;
    const claimId = newId();
    const claim = { ...call, claimId, instanceId: instance.id };
    const known = await claimCompletion(app, claim, call.longestMs / 1_000);
    if (known !== null) return this.#repeat(call, known);
    const stored: { response?: CompleteResponse; acted?: true } = {};
    const store: StoreAnswer = (answer, run) => {
      stored.response = responseOf(answer, run);
      return { claimId, sealed: this.#seal(call, claimId, stored.response) };
    };
    const act = async (): Promise<void> => {
      await noteAct(app, claim);
      stored.acted = true;
    };
    try {
      await work(store, act);
    } catch (error) {
      await this.#release(claim);
      throw stored.acted === true ? notRepeatable(error) : error;
    }
    if (stored.response === undefined)
      throw new Error('the completion was not stored with the end of its run');
    return stored.response;
  }

  #repeat(
    call: CompletionCall,
    { claim_id: claimId, fingerprint, answer, is_over: isOver }: StoredCompletion,
  ): CompleteResponse {
    const param = 'call_id';
    if (!fingerprint.equals(call.fingerprint))
      throw new AppError('idempotency_key_reused', 'This call id was used for another request.', { param });
    if (isOver) throw notRepeatable();
    if (answer === null)
      throw new AppError('idempotency_in_progress', 'A call with this id is still in progress.', {
        param,
        headers: { 'retry-after': '1' },
      });
    const opened = this.#options.keyRing.open(answer, contextOf(call, claimId));
    return JSON.parse(opened.toString()) as CompleteResponse;
  }

  #seal(call: CompletionCall, claimId: string, response: CompleteResponse): Buffer {
    return this.#options.keyRing.seal(Buffer.from(JSON.stringify(response)), contextOf(call, claimId));
  }

  /** If this fails too, the claim expires. */
  async #release(claim: Pick<CompletionClaim, 'tenantId' | 'claimId'>): Promise<void> {
    await releaseCompletion(this.#options.app, claim).catch((error: unknown) =>
      this.#options.log.warn(
        { err: error },
        'failed to release a call id; it stays claimed until it expires',
      ),
    );
  }
}

function notRepeatable(cause?: unknown): AppError {
  return new AppError(
    'run_not_repeatable',
    'The run ended without an answer after it called a tool that must not be called twice.',
    { cause },
  );
}

/** The context authenticated by the encryption. */
function contextOf({ tenantId, callId }: CompletionCall, claimId: string): string {
  return `${tenantId}/chat.completions/answer/${callId}/${claimId}`;
}

function responseOf(...[{ bytes, model }, run]: Parameters<StoreAnswer>): CompleteResponse {
  if (bytes.length > objectBytes)
    throw new AppError(
      'provider_invalid_response',
      `The answer of the model ${model.id} is larger than ${objectBytes} bytes.`,
    );
  return { runId: run.id, traceId: run.traceId, completionJson: dialects.chat.plainAnswer(bytes) };
}
