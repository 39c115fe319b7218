import { AppError } from '@gatehouse/kit/errors';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import type { MostTokens } from './upper-bounds.ts';

/** The 403 for a model, or a tool of its provider, without a price where a budget is set. */
export class ModelUnpriced extends AppError {
  readonly model: Model;

  constructor(model: Model, tool?: string) {
    const what = tool === undefined ? 'this request' : `the tool ${JSON.stringify(tool)}`;
    super(
      'model_unpriced',
      `The model ${JSON.stringify(model.id)} has no price for ${what}, and a budget is set. Ask the operator to price it.`,
      { param: tool === undefined ? 'model' : 'tools' },
    );
    this.model = model;
  }
}

/** The most of each resource a request may use. Computed once, and only for limited resources. */
export class RequestAmounts {
  readonly #pricing: Pricing;
  #calls: readonly MostTokens[] | (() => readonly MostTokens[]);
  #tokens: bigint | null = null;
  #pico: bigint | null = null;

  /** `calls`: what a call of each model may use. */
  constructor(calls: readonly MostTokens[] | (() => readonly MostTokens[]), pricing: Pricing) {
    this.#calls = calls;
    this.#pricing = pricing;
  }

  /** Whether they were asked for. */
  get areKnown(): boolean {
    return typeof this.#calls !== 'function';
  }

  /** Throws 403 `model_unpriced` where a budget is set and a model has no price. */
  amountOf(resource: Resource): bigint {
    switch (resource) {
      case Resource.TOKENS:
        return (this.#tokens ??= BigInt(
          toTokens(Math.max(...this.#perModel().map(({ input, output }) => input + output))),
        ));
      case Resource.BUDGET:
        return (this.#pico ??= this.#money());
      default:
        return 1n;
    }
  }

  /** Tokens of one answer at most, at the model with the longest answers. */
  get tokensEach(): number {
    return Math.max(...this.#perModel().map(({ output, choices }) => Math.floor(output / choices)));
  }

  /** Returns those of the same call with answers of at most `tokensEach`. Does not keep the request. */
  limited(tokensEach: number): RequestAmounts {
    const calls = this.#perModel().map((most) => ({
      ...most,
      output: Math.min(most.output, Math.ceil(most.choices * tokensEach)),
    }));
    return new RequestAmounts(calls, this.#pricing);
  }

  /**
   * The most tokens of one answer, from `least` on, with which the call costs no more than `pico`; null if even `least`
   * costs more.
   */
  tokensFor(pico: bigint, least: number): number | null {
    const costs = (tokens: number): bigint => this.limited(tokens).amountOf(Resource.BUDGET);
    if (costs(least) > pico) return null;
    let [fits, tooMany] = [least, Math.max(least, this.tokensEach) + 1];
    while (tooMany - fits > 1) {
      const tokens = Math.floor((fits + tooMany) / 2);
      if (costs(tokens) <= pico) fits = tokens;
      else tooMany = tokens;
    }
    return fits;
  }

  /** Those of calls of one model. They do not keep the request. */
  forModel(id: string): RequestAmounts {
    const calls = this.#perModel().filter(({ model }) => model.id === id);
    return new RequestAmounts(calls, this.#pricing);
  }

  /** Amounts of a further call, with a prompt longer by `addedBytes`. They do not keep the request. */
  grown(addedBytes: number): RequestAmounts {
    const calls = this.#perModel().map((most) => ({
      ...most,
      input: most.input + most.samplings * addedBytes,
    }));
    return new RequestAmounts(calls, this.#pricing);
  }

  /** At the highest price of the chain. */
  #money(): bigint {
    const at = new Date();
    const costs = this.#perModel().map(({ model, ...most }) => {
      const cost = this.#pricing.mostCost(model, most, at);
      if (cost === null) throw new ModelUnpriced(model);
      const tool = this.#pricing.unpricedTools(model, most.feeTools ?? [], at).find(({ isHint }) => !isHint);
      if (tool !== undefined) throw new ModelUnpriced(model, tool.type);
      return cost;
    });
    return costs.reduce((most, cost) => (cost > most ? cost : most));
  }

  #perModel(): readonly MostTokens[] {
    if (typeof this.#calls === 'function') this.#calls = this.#calls();
    return this.#calls;
  }
}
