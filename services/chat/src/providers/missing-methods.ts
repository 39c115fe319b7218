import { deploymentName, type Model } from '../catalogue/catalogue.ts';
import type { CallScope } from './findings.ts';
import type { ProviderFailure } from './provider-failure.ts';

/** Methods of an API that not all its servers have. A model found to lack one is not asked for it while that rests. */
export type OptionalMethod = 'count' | 'compact' | 'trigger';

/** The calls for a method that a rest of it is about. */
export function methodScope(model: Model, operation: OptionalMethod, tenantId: string): CallScope {
  return { operation, model: deploymentName(model), tenantId };
}

/** Whether a failure says that there is no such method: a server may also mean its model by 404. */
export function saysUnknownMethod({ kind, details }: ProviderFailure, { or404 = false } = {}): boolean {
  const { status } = details;
  return kind === 'status' && (status === 405 || status === 501 || (or404 && status === 404));
}

/** The item by which clients ask for a compaction in a response. */
const triggerType = 'compaction_trigger';

/** Whether a failure says that its server doesn't know that item. */
export function saysUnknownTrigger({ kind, details }: ProviderFailure): boolean {
  const { status, message = '', body } = details;
  const isRefused = kind === 'status' && (status === 400 || status === 422);
  return isRefused && (message.includes(triggerType) || body?.includes(triggerType) === true);
}

/** Bedrock's words for a model without CountTokens. */
const withoutCounts = /\bcounting tokens\b|\bCountTokens\b/i;

/** Whether a failure says that the tokens of a model can't be counted. */
export function saysUncounted(model: Model, failure: ProviderFailure): boolean {
  const { status, message = '' } = failure.details;
  const isWord = model.provider.kind === 'bedrock' && status === 400 && withoutCounts.test(message);
  return isWord || saysUnknownMethod(failure);
}
