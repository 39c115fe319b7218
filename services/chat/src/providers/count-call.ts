import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Model } from '../catalogue/catalogue.ts';
import { rulesNameOf } from '../catalogue/facts-by.ts';
import type { Target } from '../catalogue/target.ts';
import type { ProviderCall } from './adapter.ts';
import type { KeyRotation, PoolKey } from './key-pool.ts';
import { fittedBody } from './fitted-body.ts';
import { isUnknownName } from './missing-deployments.ts';
import { methodScope, saysUncounted } from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { FittedCall } from './provider-kind.ts';
import { secretsIn } from './repeated-secrets.ts';
import { Refusals } from './refusals.ts';
import type { ProviderRegistry } from './registry.ts';
import { Repeats } from './retry-delay.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import { smallAnswerBytes } from '../bounds.ts';

/** A request for providers to count the tokens of. */
export interface CountCall {
  /** In the order in which they are asked. */
  models: readonly Model[];
  tenantId: string;
  /** As in a target. */
  affinity: string | null;
  ownKeys: Target['ownKeys'];
  /** Null where the model's API can't express the request. `rotation`: the keys of a provider with several. */
  requestFor: (model: Model, rotation: KeyRotation | null) => Promise<CountRequest | null>;
  trace: TraceContext;
  /** Aborts when the count is no longer wanted. */
  signal: AbortSignal;
  room: AnswerRoom;
}

/** A request in the terms of a model's provider. */
export interface CountRequest {
  body: Pieces;
  /** See `ProviderCall`. */
  copied?: ProviderCall['copied'];
  /** The client's headers, as far as its API passes them on. */
  headers: Readonly<Record<string, string>>;
  /** The count as its client gets it; null for an answer without one. */
  answerIn(bytes: Buffer, fields: Fields): Buffer | null;
  /** The failure in the words of the client's API. */
  failed(failure: ProviderFailure): ProviderFailure;
}

/** A count in the API of its client. */
export interface Count {
  model: Model;
  bytes: Buffer;
}

/**
 * Asks the first model's provider for a count, again where this may help, and then the others'. Models with an open
 * breaker come last, but counts say nothing about the health of completions, so breakers don't learn of them. Nothing
 * is recorded: a count is no run. Null if no model can count the request. Throws the failure of the last call.
 */
export async function countAtProvider(providers: ProviderRegistry, call: CountCall): Promise<Count | null> {
  let failure: ProviderFailure | null = null;
  const { tenantId } = call;
  const { missing } = providers;
  const refusals = new Refusals({ api: null, tenantId, providers });
  const isOpen = (model: Model): boolean =>
    providers.get(model).breaker.isOpenFor({ operation: 'chat', tenantId });
  const models = call.models.toSorted((a, b) => Number(isOpen(a)) - Number(isOpen(b)));
  for (const [index, model] of models.entries()) {
    if (isUnknownName(failure, models[index - 1], model)) break;
    const scope = methodScope(model, 'count', tenantId);
    if (missing.cooldownOf(scope) !== null) continue;
    const repeats = new Repeats(model.provider.max_retries);
    for (;;) {
      refusals.begin(model);
      const sent: SentCount = {};
      const outcome = await attempt(providers, model, { ...call, refused: refusals.names, sent });
      if (repeats.mends(() => refusals.isNeededAfter(outcome, model))) continue;
      if (outcome === null) break;
      if (!(outcome instanceof ProviderFailure)) {
        missing.accepted(scope);
        return outcome;
      }
      if (sent.isUnsure === true && outcome.details.status === 400) break;
      if (saysUncounted(model, outcome)) {
        missing.refused(scope, 'refused');
        break;
      }
      if (failure === null || !outcome.lacksDeployment) failure = outcome;
      if (!outcome.fallbackHelps) throw outcome;
      const delay = repeats.after(outcome);
      if (delay === null) break;
      await sleep(delay, call.signal).catch(() => undefined);
      if (call.signal.aborted) throw ProviderFailure.aborted(model.provider.name, call.signal);
    }
  }
  if (failure !== null) throw failure;
  return null;
}

/** The last call of an attempt. */
interface SentCount {
  call?: ProviderCall;
  /** See `FittedBody`. */
  isUnsure?: boolean;
}

async function attempt(
  providers: ProviderRegistry,
  model: Model,
  {
    requestFor,
    trace,
    signal,
    room,
    tenantId,
    affinity,
    ownKeys,
    refused,
    sent,
  }: CountCall & Pick<FittedCall, 'refused'> & { sent: SentCount },
): Promise<Count | ProviderFailure | null> {
  const { name } = model.provider;
  const { adapter } = providers.get(model);
  const keys = providers.keysFor(model, { tenantId, ownKeys });
  const called = { operation: 'count', model: model.upstreamModel } as const;
  const rotation = keys?.selectKey({ ...called, tenantId, affinity }) ?? null;
  const firstKey = rotation?.key ?? null;
  const asked = await requestFor(model, rotation);
  if (asked === null) return null;
  let request = asked;
  if (signal.aborted) return ProviderFailure.aborted(name, signal);
  const call = { ...called, api: model.api, stream: false, trace, signal, room, onHeaders: () => undefined };
  const withKey = async (key: PoolKey | null): Promise<Buffer> => {
    if (key !== firstKey) request = (await requestFor(model, rotation)) ?? asked;
    const { headers, copied } = request;
    const fittedCall = {
      ...called,
      api: model.api,
      headers,
      rulesName: rulesNameOf(model),
      refused,
      tenantId,
      copied,
    };
    const fitted = await fittedBody(adapter, { body: request.body, ignored: [] }, fittedCall);
    if (fitted instanceof AppError) throw fitted;
    const { body, isUnsure = false } = fitted;
    sent.isUnsure = isUnsure;
    sent.call = { ...call, headers, body, copied, credentials: key?.credentials };
    return adapter.complete(sent.call);
  };
  try {
    const bytes = await (rotation === null ? withKey(null) : rotation.sent(withKey));
    const answer = countIn(bytes, request);
    return answer === null ? new ProviderFailure('invalid', name) : { model, bytes: answer };
  } catch (error) {
    if (error instanceof AppError) return null;
    if (error instanceof ProviderFailure) return request.failed(error).without(secretsIn(sent.call?.proof));
    throw error;
  }
}

function countIn(bytes: Buffer, request: CountRequest): Buffer | null {
  if (bytes.length > smallAnswerBytes) return null;
  try {
    const answer: unknown = JSON.parse(bytes.toString('utf8'));
    return isFields(answer) ? request.answerIn(bytes, answer) : null;
  } catch {
    return null;
  }
}
