import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn, parseError as wordsOfAny, withoutAccount } from '../provider-errors.ts';
import { textOf } from '../translation/fields.ts';

/** Google's names of statuses (https://cloud.google.com/apis/design/errors), for errors without a number. */
const statuses: Readonly<Record<string, number>> = {
  ...{ INVALID_ARGUMENT: 400, FAILED_PRECONDITION: 400, OUT_OF_RANGE: 400 },
  ...{ UNAUTHENTICATED: 401, PERMISSION_DENIED: 403, NOT_FOUND: 404, RESOURCE_EXHAUSTED: 429 },
  ...{ INTERNAL: 500, UNAVAILABLE: 503, DEADLINE_EXCEEDED: 504 },
};

/** More than any error has. */
const maxDetails = 32;

/** The error in a response with status 200, or null. */
export function publicErrorIn(fields: Fields): ProviderError | null {
  return errorIn(fields) === null ? null : withoutAccount(parseError(fields));
}

/** The statuses of an overloaded model, and of one that is away. */
const unavailable = 503;

/** Reads the body of an error. For a stream as an array, the error is in the array. */
export function parseError(body: Fields, httpStatus?: number): ProviderError {
  const [first = body] = listOf(body);
  const fields = isFields(first) ? first : {};
  const words = wordsOfAny(fields);
  const { status: errorStatus, details } = Object(fields['error']) as Fields;
  const name = textOf(errorStatus);
  const status = words.status ?? (Object.hasOwn(statuses, name) ? statuses[name] : undefined);
  const isOverload = (httpStatus ?? status) === unavailable;
  const retryAfterMs = retryDelayIn(listOf(details).slice(0, maxDetails));
  return {
    ...words,
    ...(status !== undefined && { status }),
    ...(isOverload && { isOverload }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** The time of a `RetryInfo`, in Protocol Buffers' JSON of a duration: `3.5s`. */
function retryDelayIn(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    const { '@type': type, retryDelay } = Object(detail) as Fields;
    const [, seconds] = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(textOf(retryDelay)) ?? [];
    if (textOf(type).endsWith('.RetryInfo') && seconds !== undefined) return Number(seconds) * 1_000;
  }
  return undefined;
}
