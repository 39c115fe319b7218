import { sleep } from '@gatehouse/kit/clock';
import { isFields } from '@gatehouse/kit/fields';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Model } from '../catalogue/catalogue.ts';
import type { CountFormat } from '../dialects/dialect.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { ProviderRegistry } from './registry.ts';
import { Repeats } from './retry-delay.ts';

/** Larger than any count. */
const maxCountBytes = 64 * 1024;

/** A request whose tokens providers count. */
export interface CountCall {
  /** In the order in which they are asked; all of one API. */
  models: readonly Model[];
  format: CountFormat;
  tenantId: string;
  /** The request in the terms of a model's provider. */
  bodyFor: (model: Model) => Buffer;
  /** Headers of the client that the API passes on. */
  headers: Readonly<Record<string, string>>;
  trace: TraceContext;
  /** Aborts when the count is no longer wanted. */
  signal: AbortSignal;
  room: AnswerRoom;
}

/** A count as its provider wrote it. */
export interface Count {
  model: Model;
  bytes: Buffer;
}

/**
 * Asks the first model's provider for a count, again where that may help, and then those of the others. Models whose
 * breaker is open come last, but counts say nothing about the health of completions, so breakers don't learn of them.
 * Nothing is recorded: a count is no run. Throws the failure of the last call.
 */
export async function countAtProvider(providers: ProviderRegistry, call: CountCall): Promise<Count> {
  let failure: ProviderFailure | null = null;
  const isOpen = (model: Model): boolean => providers.get(model).breaker.isOpenFor(call.tenantId);
  for (const model of call.models.toSorted((a, b) => Number(isOpen(a)) - Number(isOpen(b)))) {
    const repeats = new Repeats(model.provider.max_retries);
    for (;;) {
      const outcome = await attempt(providers, model, call);
      if (!(outcome instanceof ProviderFailure)) return outcome;
      failure = outcome;
      if (!failure.fallbackHelps) throw failure;
      const delay = repeats.after(failure);
      if (delay === null) break;
      await sleep(delay, call.signal).catch(() => undefined);
      if (call.signal.aborted) throw ProviderFailure.aborted(model.provider.name, call.signal);
    }
  }
  throw failure ?? new Error('the call has no model');
}

async function attempt(
  providers: ProviderRegistry,
  model: Model,
  { format, bodyFor, headers, trace, signal, room }: CountCall,
): Promise<Count | ProviderFailure> {
  const { name } = model.provider;
  if (signal.aborted) return ProviderFailure.aborted(name, signal);
  const body = bodyFor(model);
  const { adapter } = providers.get(model);
  const called = { api: model.api, operation: 'count', model: model.upstreamModel, stream: false } as const;
  const call = { ...called, headers, body, trace, signal, room };
  try {
    const bytes = await adapter.complete({ ...call, onHeaders: () => undefined });
    return isCount(bytes, format) ? { model, bytes } : new ProviderFailure('invalid', name);
  } catch (error) {
    if (error instanceof ProviderFailure) return error;
    throw error;
  }
}

function isCount(bytes: Buffer, format: CountFormat): boolean {
  if (bytes.length > maxCountBytes) return false;
  try {
    const answer: unknown = JSON.parse(bytes.toString('utf8'));
    return isFields(answer) && format.isCount(answer);
  } catch {
    return false;
  }
}
