import type { Model } from '../catalogue/catalogue.ts';
import type { RequestHead } from '../dialects/dialect.ts';
import type { ApiName } from '../dialects/dialects.ts';
import { saysUnknownMethod, type MissingMethods } from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Models with the client's API that write the summary which a request asks for, since their servers have no compaction. */
export class OwnSummaries {
  readonly #api: ApiName;
  readonly #isAsked: boolean;
  readonly #missing: MissingMethods;
  /** Those whose servers have just said so. */
  readonly #models = new Set<Model>();

  constructor(api: ApiName, { compaction }: Pick<RequestHead, 'compaction'>, missing: MissingMethods) {
    this.#api = api;
    this.#isAsked = compaction === 'path';
    this.#missing = missing;
  }

  has(model: Model): boolean {
    return this.#isAsked && (this.#models.has(model) || this.#missing.has(model, 'compact'));
  }

  /** Whether an outcome says that the server has no compaction, so that the model is called again for its summary. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (!this.#isAsked || model.api !== this.#api || this.has(model)) return false;
    if (!(outcome instanceof ProviderFailure) || !saysUnknownMethod(outcome, { or404: true })) return false;
    this.#models.add(model);
    return true;
  }

  /** The model has answered, so that it was its server that lacked something, and not the model. */
  answered(model: Model): void {
    if (this.#models.has(model)) this.#missing.note(model, 'compact');
  }
}
