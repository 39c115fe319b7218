import type { Model } from '../catalogue/catalogue.ts';
import type { RunPolicies } from '@gatehouse/kit/policy-matching';
import type { Policy } from '../policies/policy.ts';
import type { Admission } from './admission.ts';
import { isPassedOver, type CallAmounts, type Limiter, type Payer } from './limiter.ts';
import type { LimitRefusal } from './refusal.ts';

export interface CallAdmissionOptions {
  limiter: Limiter;
  admission: Admission;
  payer: Payer;
  /** The models in the order of the calls. */
  chain: readonly Model[];
  /** The policies of the run; null without any. */
  policies: RunPolicies<Policy> | null;
}

/**
 * Admits the provider calls of one request. Tokens and money count in the policies of the model called: each model is
 * admitted apart, and one without room in its policies is passed over.
 */
export class CallAdmission {
  readonly #options: CallAdmissionOptions;
  #call: CallAmounts | null = null;
  #modelId: string | null = null;
  #maxTokens: number | null = null;
  readonly #passedOver = new Map<string, LimitRefusal>();

  constructor(options: CallAdmissionOptions) {
    this.#options = options;
  }

  /**
   * Admits a call of the first model with room. Returns the most tokens of its answer where a budget does not hold the
   * whole call, otherwise null. Throws as `Limiter.admit` does.
   */
  begin(call: CallAmounts): number | null | Promise<number | null> {
    const { limiter, admission, payer, policies } = this.#options;
    if (policies === null) return limiter.admit(admission, payer, call);
    return this.#beginWith(call);
  }

  /** Admits a call of a model, or returns the reason to pass it over. Null without policies: all are admitted. */
  get model(): ((model: Model) => Promise<LimitRefusal | { maxTokens: number | null }>) | null {
    return this.#options.policies === null ? null : (model) => this.#admit(model);
  }

  async #beginWith(call: CallAmounts): Promise<number | null> {
    this.#call = call;
    this.#passedOver.clear();
    for (const id of new Set(this.#options.chain.map((model) => model.id)))
      if ((await this.#take(id)) === null) break;
    return this.#maxTokens;
  }

  async #admit({ id }: Model): Promise<LimitRefusal | { maxTokens: number | null }> {
    const refusal = this.#passedOver.get(id);
    if (refusal !== undefined) return refusal;
    if (id !== this.#modelId) {
      // Another model follows a failed one, which leaves what it has not spent.
      this.#options.admission.reservation.lessen();
      const refused = await this.#take(id);
      if (refused !== null) return refused;
    }
    return { maxTokens: this.#maxTokens };
  }

  /** Returns the refusal of a passed-over model. */
  async #take(id: string): Promise<LimitRefusal | null> {
    const { limiter, admission, payer, policies } = this.#options;
    const call = this.#call;
    if (policies === null || call === null) return null;
    const hasAlternative = this.#hasModelAfter(id);
    const counted = { counters: policies.countersOf(id), amounts: call.amounts.forModel(id), hasAlternative };
    try {
      this.#maxTokens = await limiter.admit(admission, payer, { ...call, counted });
      this.#modelId = id;
      return null;
    } catch (error) {
      if (!isPassedOver(error, counted)) throw error;
      this.#passedOver.set(id, error);
      return error;
    }
  }

  #hasModelAfter(id: string): boolean {
    const { chain } = this.#options;
    return chain.findLastIndex((model) => model.id === id) < chain.length - 1;
  }
}
