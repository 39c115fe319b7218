import { deploymentName, type Model } from '../catalogue/catalogue.ts';
import { traitsOf } from '../catalogue/provider-schema.ts';
import type { RequestHead } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { Cooldowns } from './cooldowns.ts';
import type { CallScope } from './findings.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Methods missing at some servers of an API. A model found to lack one is not asked for it while the method rests. */
type OptionalMethod = 'count' | 'compact' | 'trigger';

/** The calls affected by the rest of a method. */
export function methodScope(model: Model, operation: OptionalMethod, tenantId: string): CallScope {
  return { operation, model: deploymentName(model), tenantId };
}

/** Whether a failure says the method is missing: a server may also mean its model by 404. */
function saysUnknownMethod({ kind, details }: ProviderFailure, { or404 = false } = {}): boolean {
  const { status } = details;
  return kind === 'status' && (status === 405 || status === 501 || (or404 && status === 404));
}

/** The item by which clients ask for a compaction in a response. */
const triggerType = 'compaction_trigger';

/** Whether a failure says its server doesn't know this item. */
function saysUnknownTrigger({ kind, details }: ProviderFailure): boolean {
  const { status, message = '', body } = details;
  const isRefused = kind === 'status' && (status === 400 || status === 422);
  return isRefused && (message.includes(triggerType) || body?.includes(triggerType) === true);
}

/** Whether a failure says the tokens of a model can't be counted. */
export function saysUncounted(model: Model, failure: ProviderFailure): boolean {
  const { status, message = '' } = failure.details;
  const isWord = status === 400 && traitsOf(model.provider.kind).uncounted?.test(message) === true;
  return isWord || saysUnknownMethod(failure);
}

interface OwnSummariesOptions {
  missing: Cooldowns;
  tenantId: string;
  /** Whether no server is asked for a compaction. */
  areAll: boolean;
}

/**
 * Models with the client's API that write a requested summary themselves: their servers have no compaction, or none is
 * asked for it.
 */
export class OwnSummaries {
  readonly #api: ApiName;
  /** How the servers are asked for it; null for a request of another kind. */
  readonly #method: OptionalMethod | null;
  readonly #known: OwnSummariesOptions;
  /** Models of servers without it, as found just now. */
  readonly #models = new Set<Model>();

  constructor(api: ApiName, { compaction }: Pick<RequestHead, 'compaction'>, known: OwnSummariesOptions) {
    this.#api = api;
    this.#method = compaction === undefined ? null : methods[compaction];
    this.#known = known;
  }

  has(model: Model): boolean {
    if (this.#method === null) return false;
    const { missing, tenantId, areAll } = this.#known;
    return (
      areAll ||
      this.#models.has(model) ||
      missing.cooldownOf(methodScope(model, this.#method, tenantId)) !== null
    );
  }

  /** Whether an outcome says the server has no compaction, so the model is called again for its summary. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (this.#method === null || this.#known.areAll) return false;
    if (model.api !== this.#api || this.#models.has(model)) return false;
    if (!(outcome instanceof ProviderFailure)) return false;
    const isUnknown =
      this.#method === 'compact' ? saysUnknownMethod(outcome, { or404: true }) : saysUnknownTrigger(outcome);
    if (isUnknown) this.#models.add(model);
    return isUnknown;
  }

  /** The model has answered, so its server lacked something, not the model. */
  answered(model: Model): void {
    const { missing, tenantId, areAll } = this.#known;
    if (this.#method === null || areAll) return;
    const scope = methodScope(model, this.#method, tenantId);
    if (this.#models.has(model)) missing.refused(scope, 'refused');
    else missing.accepted(scope);
  }
}

const methods = { path: 'compact', item: 'trigger' } as const;
