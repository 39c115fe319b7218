import { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import { isNameless, limitFieldOf, overlayOf } from '../catalogue/facts-by.ts';
import { traitsOf } from '../catalogue/provider-schema.ts';
import type { RequestSource } from '@gatehouse/dialects/dialect';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { concernsRequest } from '@gatehouse/dialects/provider-errors';
import { takesThinkingAt } from '@gatehouse/dialects/request-additions';
import type { ModelFacts } from '@gatehouse/dialects/translation/api';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import { translationBetween, type Translation } from '@gatehouse/dialects/translation/translation';
import { LargeWork } from '../shared/large-work.ts';
import type { AttemptRecord } from './open-call.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

interface TranslationOptions {
  /** See `ProviderRegistry.signatureMacs`. */
  macs: Hasher;
  sealSummary?: ((summary: string) => string) | undefined;
  translatesOwn?: boolean;
  /** Whether the model is taken for one of the client's vendor. */
  isOfVendor?: boolean;
  /** Betas of Anthropic's API sent with the call. */
  betas?: readonly string[];
  /** The only account to read the signatures of the call's thoughts: the one of its key. */
  account?: () => string | null;
  record?: Pick<AttemptRecord, 'answerId'>;
  reasoningFill?: ModelFacts['reasoningFill'];
  unreadable?: ModelFacts['unreadable'];
}

/** Whether a model without a name may be of the client's vendor, so the client's hints for its models go to it. */
export function mayBeOfVendor(client: ApiName, model: Model): boolean {
  const { guessed } = traitsOf(model.provider.kind);
  return guessed !== undefined && isNameless(model) && dialects[client].signatures?.vendor === guessed.vendor;
}

/**
 * Translates a call of a model if its provider has another API than the client; null where both have the same.
 * `sealSummary`: for a request answered by the summary of its conversation. `translatesOwn`:
 * whether a model with the client's API is translated, too.
 */
export function translationFor(
  client: ApiName,
  model: Model,
  {
    macs,
    sealSummary,
    translatesOwn = false,
    isOfVendor = false,
    betas = [],
    account = () => null,
    record,
    reasoningFill,
    unreadable,
  }: TranslationOptions,
): Translation | null {
  if (client === model.api && !translatesOwn) return null;
  const facts = {
    get account(): string | null {
      return account();
    },
    get answerId(): string | undefined {
      return record?.answerId;
    },
    macs,
    ...overlayOf(model),
    ...(isOfVendor && { rulesName: traitsOf(model.provider.kind).guessed?.family }),
    cache: model.cache,
    betas,
    isAtVendor: model.provider.kind === 'anthropic',
    maxOutputTokens: model.max_output_tokens ?? null,
    reasoning: model.reasoning ?? true,
    tokenLimit: limitFieldOf(model),
    takesThinking: takesThinkingAt(model.provider.base_url),
    streamUsage: model.provider.stream_usage,
    reasoningFill,
    unreadable,
  };
  return translationBetween(client, model.api, facts, sealSummary);
}

/**
 * The failure of a translated call, as the client's API has it: the body is in another one, and words about anything
 * but the request may name the platform's account.
 */
export function translatedFailure(failure: ProviderFailure, translation: Translation): ProviderFailure {
  const { body: _body, message, code, param, status, ...details } = failure.details;
  const isOfRequest = status !== undefined && concernsRequest(status);
  const clientStatus = status === 422 ? 400 : status;
  return new ProviderFailure(failure.kind, failure.provider, {
    ...details,
    ...(isOfRequest && translation.error({ message, code, param })),
    ...(clientStatus !== undefined && { status: clientStatus }),
  });
}

/**
 * An error of a call, as the client's API has it if it is a failure. `isNative`: whether a call without translation has
 * the client's API; embeddings may have another one, in which their errors' bodies are.
 */
export function toClientFailure(error: unknown, translation: Translation | null, isNative: boolean): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  if (translation !== null) return translatedFailure(error, translation);
  return isNative
    ? error
    : new ProviderFailure(error.kind, error.provider, { ...error.details, body: undefined });
}

/** A request in the client's API, which is written once its turn has come. */
interface WrittenRequest {
  /** The client's request. */
  source: Pick<RequestSource, 'bytes' | 'copied'>;
  write: () => Pieces;
  signal?: AbortSignal | undefined;
}

/** A request for a provider. */
export interface PreparedBody {
  body: Pieces;
  /** Names of hints left out. */
  ignored: readonly string[];
}

/** A request in the API of a model; a 400 if this API can't express it. */
export async function translatedRequest(
  translation: Translation,
  { source, write, signal }: WrittenRequest,
  options: Parameters<Translation['request']>[1],
): Promise<PreparedBody | AppError> {
  const { tenantId } = options;
  try {
    const { body, copied, ignored } = await LargeWork.during({ tenantId, bytes: source.bytes, signal }, () =>
      translation.request(write(), options),
    );
    source.copied(copied);
    return { body, ignored };
  } catch (error) {
    // A client's leave is an error of the program's own kind, but says nothing of the model's API.
    if (signal?.aborted === true) throw error;
    return refusalIn(error);
  }
}

/** A request; a 400 if its provider can't read it. */
export function orRefusal<Written>(write: () => Written): Written | AppError {
  try {
    return write();
  } catch (error) {
    return refusalIn(error);
  }
}

/** Rethrows an error other than a refusal. */
function refusalIn(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
