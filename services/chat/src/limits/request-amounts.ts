import { AppError } from '@gatehouse/kit/errors';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { MostTokens } from './bounds.ts';

/** The 403 for a model without a price where a budget is set. */
export class ModelUnpriced extends AppError {
  readonly model: Model;

  constructor(model: Model) {
    super(
      'model_unpriced',
      `The model ${JSON.stringify(model.id)} has no price for this request, and a budget is set. Ask the operator to price it.`,
      { param: 'model' },
    );
    this.model = model;
  }
}

/** What a request may use at most of each resource. Computed once, and only for resources that are limited. */
export class RequestAmounts {
  readonly #pricing: Pricing;
  #calls: readonly MostTokens[] | (() => readonly MostTokens[]);

  /** `calls`: what a call of each model may use. */
  constructor(calls: readonly MostTokens[] | (() => readonly MostTokens[]), pricing: Pricing) {
    this.#calls = calls;
    this.#pricing = pricing;
  }

  /** Throws 403 `model_unpriced` where a budget is set and a model has no price. */
  of(resource: Resource): bigint {
    switch (resource) {
      case Resource.TOKENS:
        return BigInt(Math.max(...this.#perModel().map(({ input, output }) => input + output)));
      case Resource.BUDGET:
        return this.#money();
      default:
        return 1n;
    }
  }

  /**
   * Of a further call, whose prompt is longer by `addedBytes`. Does not keep the request.
   */
  grown(addedBytes: number): RequestAmounts {
    const calls = this.#perModel().map((most) => ({ ...most, input: most.input + addedBytes }));
    return new RequestAmounts(calls, this.#pricing);
  }

  /** At the dearest model of the chain. */
  #money(): bigint {
    const at = new Date();
    const costs = this.#perModel().map(({ model, ...most }) => {
      const cost = this.#pricing.mostCost(model, most, at);
      if (cost !== null) return cost;
      throw new ModelUnpriced(model);
    });
    return costs.reduce((most, cost) => (cost > most ? cost : most));
  }

  #perModel(): readonly MostTokens[] {
    if (typeof this.#calls === 'function') this.#calls = this.#calls();
    return this.#calls;
  }
}
