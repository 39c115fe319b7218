import type { MeteredAnswer } from '../dialects/dialect.ts';
import type { AttemptRecord } from './attempt-record.ts';
import type { Breaker } from './breaker.ts';
import { ProviderFailure } from './provider-failure.ts';

type BegunAnswer = Omit<MeteredAnswer, 'responseModel'>;

const nothing = { beginning: '', chars: 0 };

/** A provider call under way. Its outcome counts for the breaker of its deployment and is recorded. */
export class OpenCall {
  readonly #tenantId: string;
  readonly #breaker: Breaker;
  readonly #record: AttemptRecord;

  constructor(tenantId: string, breaker: Breaker, record: AttemptRecord) {
    this.#tenantId = tenantId;
    this.#breaker = breaker;
    this.#record = record;
  }

  /** The first good byte arrived. */
  answered(): void {
    this.#breaker.answered(this.#tenantId);
    this.#record.noteFirstToken();
  }

  succeeded({ responseModel, usage, serviceTier, answer }: MeteredAnswer): Promise<void> {
    this.#breaker.succeeded(this.#tenantId);
    return this.#record.endAttempt({
      status: 'ok',
      httpStatus: 200,
      responseModel,
      usage,
      serviceTier,
      answer,
    });
  }

  /** Returns the failure; rethrows any other error. `begun`: what came of the answer, if it has begun. */
  async failed(error: unknown, begun: BegunAnswer | null): Promise<ProviderFailure> {
    if (!(error instanceof ProviderFailure)) throw error;
    if (error.blame !== null) this.#breaker.failed(this.#tenantId, error.blame);
    const { usage } = error.details;
    const paid = usage === undefined ? null : { usage, serviceTier: null, answer: nothing };
    await this.#record.failAttempt(error, begun ?? paid);
    return error;
  }
}
