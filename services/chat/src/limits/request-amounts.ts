import { AppError } from '@gatehouse/kit/errors';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { Target } from '../catalogue/target.ts';
import type { CompletionRequest } from '../openai/completion-request.ts';
import { mostTokens, type MostTokens } from './bounds.ts';

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
  readonly #request: CompletionRequest;
  readonly #target: Target;
  readonly #pricing: Pricing;
  #calls: readonly MostTokens[] | undefined;

  constructor(request: CompletionRequest, target: Target, pricing: Pricing) {
    this.#request = request;
    this.#target = target;
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
    this.#calls ??= mostTokens(this.#request, this.#target);
    return this.#calls;
  }
}
