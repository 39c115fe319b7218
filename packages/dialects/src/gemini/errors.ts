import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn, parseError as wordsOfAny, withoutAccount } from '../provider-errors.ts';
import { retryDelayIn } from './retry-delay.ts';
import { textOf } from '../translation/fields.ts';

/** Google's names of statuses (https://cloud.google.com/apis/design/errors), for errors without a number. */
const statuses: Readonly<Record<string, number>> = {
  ...{ INVALID_ARGUMENT: 400, FAILED_PRECONDITION: 400, OUT_OF_RANGE: 400 },
  ...{ UNAUTHENTICATED: 401, PERMISSION_DENIED: 403, NOT_FOUND: 404, RESOURCE_EXHAUSTED: 429 },
  ...{ INTERNAL: 500, UNAVAILABLE: 503, DEADLINE_EXCEEDED: 504 },
};

/** The error in a response with status 200, or null. */
export function publicErrorIn(fields: Fields): ProviderError | null {
  return errorIn(fields) === null ? null : withoutAccount(parseError(fields));
}

/** The status of a model that is overloaded or away. */
const unavailable = 503;
/** Statuses with a delay in their words. */
const delayed = new Set<number | undefined>([429, unavailable]);

/** Reads the body of an error. For a stream as an array, the error is in the array. */
export function parseError(body: Fields, httpStatus?: number): ProviderError {
  const [first = body] = listOf(body);
  const fields = isFields(first) ? first : {};
  const words = wordsOfAny(fields);
  const error = Object(fields['error']) as Fields;
  const name = textOf(error['status']);
  const status = words.status ?? (Object.hasOwn(statuses, name) ? statuses[name] : undefined);
  const isOverload = (httpStatus ?? status) === unavailable;
  const { message, ...others } = error;
  const retryAfterMs = retryDelayIn(delayed.has(httpStatus ?? status) ? { ...others, message } : others);
  return {
    ...words,
    ...(status !== undefined && { status }),
    ...(isOverload && { isOverload }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
