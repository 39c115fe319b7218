import { isOutage } from '@gatehouse/grpc/errors';
import type { RequestContext } from '@gatehouse/http/request-context';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import type { Result } from '../clients/completion.ts';
import type { CompletionClient } from '../clients/completion-client.ts';
import type { CallStore } from './call-store.ts';
import type { CallError, NewCall, StoredCall } from './call.ts';
import type { CallTexts } from './call-texts.ts';
import type { Claims } from './claims.ts';
import { minuteMs } from '@gatehouse/kit/bounds';
import type { QueueAnswer } from '../shared/queue-answer.ts';
import { leastCallMs, pollMs } from '../bounds.ts';

export interface SyncCallsOptions {
  calls: CallStore;
  claims: Claims;
  texts: CallTexts;
  completions: CompletionClient;
  queueAnswer: QueueAnswer;
}

type Ref = Pick<StoredCall, 'id' | 'tenantId' | 'agentId' | 'userId' | 'sessionId' | 'deliverTo'>;

/** Calls with senders waiting for the answer. */
export class SyncCalls {
  readonly #options: SyncCallsOptions;
  /** By call: what `run` does. Apart from the waits, as a repeat may begin to wait before its call runs. */
  readonly #runs = new SharedCalls<Result>();
  /** By call: its repeats wait together. */
  readonly #waits = new SharedCalls<Result>();

  constructor(options: SyncCallsOptions) {
    this.#options = options;
  }

  /** Asks the agent, with the stored claim of the call. Once for each call. */
  async run(call: NewCall, claimId: string, context: RequestContext): Promise<Result> {
    const until = monotonicMs() + minuteMs;
    return this.#runs.get(call.id, () => this.#work(call, call.request, { claimId, context, until }));
  }

  /** The answer to an earlier request, from any replica; takes the call over if its replica has died. */
  async await(call: Ref, context: RequestContext): Promise<Result> {
    const until = monotonicMs() + minuteMs;
    for (;;) {
      try {
        const run = this.#runs.inFlight(call.id);
        return await (run ?? this.#waits.get(call.id, () => this.#await(call, { context, until })));
      } catch (error) {
        // The time of another, earlier sender is over.
        if (!(error instanceof TooLate) || monotonicMs() + leastCallMs >= until) throw error;
      }
    }
  }

  async #await(call: Ref, { context, until }: { context: RequestContext; until: number }): Promise<Result> {
    const { calls, claims, texts } = this.#options;
    while (monotonicMs() < until) {
      const progress = await calls.progressOf(call);
      const { result = null, error = null } = progress ?? {};
      if (result !== null) return texts.openResult(call, result);
      if (error !== null) throw new AppError(error.code, error.message);
      const claim = claims.make();
      const request = await calls.claim(call, claim);
      if (request !== null) return this.#work(call, request, { claimId: claim.claimId, context, until });
      await sleep(pollMs);
    }
    throw new TooLate();
  }

  async #work(
    call: Ref,
    request: Buffer,
    { claimId, context, until }: { claimId: string; context: RequestContext; until: number },
  ): Promise<Result> {
    const { calls, claims, texts, queueAnswer } = this.#options;
    return claims.hold(claimId, async () => {
      try {
        const result = await this.#ask(call, texts.requests.open(call, request), { context, until });
        await calls.succeed(call, texts.sealResult(call, result), (db) => queueAnswer(db, call));
        return result;
      } catch (error) {
        // Chat may have answered, or still be at it: a repeat asks again by the same id.
        if (isUnknownOutcome(error)) await calls.release(call, claimId);
        else await calls.fail(call, errorOf(toAppError(error)));
        throw toAppError(error);
      }
    });
  }

  async #ask(
    { id, tenantId, agentId, userId, sessionId }: Ref,
    requestJson: string,
    { context, until }: { context: RequestContext; until: number },
  ): Promise<Result> {
    const delegation = { tenantId, agentId, userId };
    const question = { callId: id, channel: 'webhook', sessionId, requestJson };
    const deadlineMs = (): number => {
      const leftMs = until - monotonicMs();
      if (leftMs < leastCallMs) throw new TooLate();
      return leftMs;
    };
    const patience = { ...context, deadlineMs, pollMs };
    return (await this.#options.completions.askPatiently(delegation, question, patience)).result;
  }
}

const errorOf = ({ code, message }: AppError): CallError => ({ code, message });

/** Whether the call to chat broke off: its run may have ended well. */
function isUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof AppError) || isOutage(error)) return true;
  return error.code === 'client_closed_request' || error.code === 'internal';
}

class TooLate extends AppError {
  constructor() {
    super('service_timeout', 'The agent did not answer within 60 s. A repeat gets its answer later.');
  }
}
