import type { Model } from '../catalogue/catalogue.ts';
import type { RequestHead } from '../dialects/dialect.ts';
import type { ApiName } from '../dialects/dialects.ts';
import {
  saysUnknownMethod,
  saysUnknownTrigger,
  type MissingMethods,
  type OptionalMethod,
} from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Models with the client's API that write the summary which a request asks for, since their servers have no compaction. */
export class OwnSummaries {
  readonly #api: ApiName;
  /** How the servers are asked for it; null for a request of another kind. */
  readonly #method: OptionalMethod | null;
  readonly #missing: MissingMethods;
  /** Those whose servers have just said so. */
  readonly #models = new Set<Model>();

  constructor(api: ApiName, { compaction }: Pick<RequestHead, 'compaction'>, missing: MissingMethods) {
    this.#api = api;
    this.#method = compaction === undefined ? null : methods[compaction];
    this.#missing = missing;
  }

  has(model: Model): boolean {
    return this.#method !== null && (this.#models.has(model) || this.#missing.has(model, this.#method));
  }

  /** Whether an outcome says that the server has no compaction, so that the model is called again for its summary. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (this.#method === null || model.api !== this.#api || this.has(model)) return false;
    if (!(outcome instanceof ProviderFailure)) return false;
    const isUnknown =
      this.#method === 'compact' ? saysUnknownMethod(outcome, { or404: true }) : saysUnknownTrigger(outcome);
    if (isUnknown) this.#models.add(model);
    return isUnknown;
  }

  /** The model has answered, so that it was its server that lacked something, and not the model. */
  answered(model: Model): void {
    if (this.#method !== null && this.#models.has(model)) this.#missing.note(model, this.#method);
  }
}

const methods = { path: 'compact', item: 'trigger' } as const;
