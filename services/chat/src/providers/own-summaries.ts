import type { Model } from '../catalogue/catalogue.ts';
import type { RequestHead } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import {
  methodScope,
  saysUnknownMethod,
  saysUnknownTrigger,
  type OptionalMethod,
} from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { Cooldowns } from './cooldowns.ts';

/** Models with the client's API that write the summary which a request asks for, since their servers have no compaction. */
export class OwnSummaries {
  readonly #api: ApiName;
  /** How the servers are asked for it; null for a request of another kind. */
  readonly #method: OptionalMethod | null;
  readonly #known: { missing: Cooldowns; tenantId: string };
  /** Those whose servers have just said so. */
  readonly #models = new Set<Model>();

  constructor(
    api: ApiName,
    { compaction }: Pick<RequestHead, 'compaction'>,
    known: { missing: Cooldowns; tenantId: string },
  ) {
    this.#api = api;
    this.#method = compaction === undefined ? null : methods[compaction];
    this.#known = known;
  }

  has(model: Model): boolean {
    if (this.#method === null) return false;
    const { missing, tenantId } = this.#known;
    return this.#models.has(model) || missing.cooldownOf(methodScope(model, this.#method, tenantId)) !== null;
  }

  /** Whether an outcome says that the server has no compaction, so that the model is called again for its summary. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (this.#method === null || model.api !== this.#api || this.#models.has(model)) return false;
    if (!(outcome instanceof ProviderFailure)) return false;
    const isUnknown =
      this.#method === 'compact' ? saysUnknownMethod(outcome, { or404: true }) : saysUnknownTrigger(outcome);
    if (isUnknown) this.#models.add(model);
    return isUnknown;
  }

  /** The model has answered, so that it was its server that lacked something, and not the model. */
  answered(model: Model): void {
    if (this.#method === null) return;
    const { missing, tenantId } = this.#known;
    const scope = methodScope(model, this.#method, tenantId);
    if (this.#models.has(model)) missing.refused(scope, 'refused');
    else missing.accepted(scope);
  }
}

const methods = { path: 'compact', item: 'trigger' } as const;
