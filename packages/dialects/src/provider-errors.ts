import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxRawChars } from './bounds.ts';
import type { ProviderError } from './dialect.ts';

/**
 * The error in a body or a chunk with status 200, or null: OpenAI's shape and those of servers in imitation of it. An
 * answer with choices is an error only if its `error` has content: some servers send an empty one beside good answers.
 */
export function errorIn(fields: Fields): ProviderError | null {
  const { error } = fields;
  if (saysSomething(error)) return parseError(fields);
  if (listOf(fields['choices']).length > 0 || listOf(fields['data']).length > 0) return null;
  const { errors, detail, message, msg, object, type, success, code, status } = fields;
  const isNamed = object === 'error' || type === 'error' || success === false;
  const saysMore = saysSomething(errors) || saysSomething(detail);
  const isMessage = saysSomething(message) || saysSomething(msg);
  const isError =
    isNamed || saysMore || (isMessage && type !== 'ping' && (isErrorCode(code) || isErrorStatus(status)));
  return isError ? parseError(fields) : null;
}

function isErrorCode(code: unknown): boolean {
  return saysSomething(code) && !/^(?:0|200|ok|success)$/i.test(String(code));
}

function isErrorStatus(status: unknown): boolean {
  return typeof status === 'number'
    ? status >= 400
    : typeof status === 'string' && /error|fail/i.test(status);
}

/** The error in the data of an event with the name `error`, which may be a text. */
export function errorInEvent(data: string): ProviderError {
  try {
    const fields: unknown = JSON.parse(data);
    if (isFields(fields)) return parseError(fields);
  } catch {
    // It is the message itself.
  }
  return parseError({ message: data });
}

/** Whether errors with a status concern the request alone: clients mend it by their words. */
export function concernsRequest(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

/** Reads the body of an error in OpenAI's shape or a similar one. */
export function parseError(body: Fields): ProviderError {
  const { detail } = isFields(body['message']) ? body['message'] : body;
  const nested = listOf(body['errors'])[0] ?? body['error'] ?? listOf(detail)[0] ?? detail;
  const error = isFields(nested) ? nested : body;
  const message = [
    upstreamMessage(error['metadata']),
    error['message'],
    error['msg'],
    body['error'],
    detail,
    body['message'],
    nested,
  ].find((word) => typeof word === 'string' && word !== '');
  const { code, param = placeOf(error), type } = error;
  const status = statusOf(
    [error['status'], error['status_code'], code, body['code'], body['status']],
    [code, type],
  );
  return {
    ...(status !== null && { status }),
    message: typeof message === 'string' ? cutText(message, textLimits.error_message) : undefined,
    code: typeof code === 'string' ? cutText(code, 100) : undefined,
    param: typeof param === 'string' ? cutText(param, 200) : undefined,
  };
}

/** The field that a schema's check names in a list of its own (https://docs.pydantic.dev/latest/errors/errors). */
function placeOf({ loc }: Fields): string | undefined {
  const place = listOf(loc).slice(0, 32).join('.');
  return place === '' ? undefined : place;
}

/**
 * OpenRouter's message is only that a provider failed, and the provider's own answer is beside it, as JSON or text
 * (https://openrouter.ai/docs/api-reference/errors).
 */
function upstreamMessage(metadata: unknown): unknown {
  const raw: unknown = isFields(metadata) ? metadata['raw'] : undefined;
  if (typeof raw !== 'string' || raw.length > maxRawChars) return undefined;
  try {
    const fields: unknown = JSON.parse(raw);
    const { error, message } = Object(fields) as Fields;
    return isFields(error) ? error['message'] : (error ?? message ?? raw);
  } catch {
    return raw;
  }
}

/** By a number equal to a status, else by the name of the error. */
function statusOf(numbers: readonly unknown[], names: readonly unknown[]): number | null {
  const status = numbers
    .map(Number)
    .find((number) => Number.isInteger(number) && number >= 400 && number < 600);
  if (status !== undefined) return status;
  for (const name of names)
    for (const [pattern, meant] of statusesByName)
      if (typeof name === 'string' && pattern.test(name)) return meant;
  return null;
}

/** Names of OpenAI's and Anthropic's errors, and of servers in imitation of them. */
const statusesByName: readonly (readonly [RegExp, number])[] = [
  [/overloaded|^slow_down$/i, 529],
  [/rate.?limit|insufficient_quota|too_many_requests|concurrency_limit/i, 429],
  [/authentication|invalid_api_key/i, 401],
  [/permission/i, 403],
  [/context_length_exceeded|invalid_request|^bad_?request/i, 400],
];

/** Not null, false, 0, empty, or a list or object of these values. */
export function saysSomething(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return depth < 3 && Object.values(value).some((member) => saysSomething(member, depth + 1));
}

const tooLong = /(?:input|prompt) is too long|too many (?:input )?tokens|context (?:window|length)/i;

/** The words of an error of Converse, with the clients' code for too long a conversation. */
export function converseWords(words: ProviderError): ProviderError {
  return tooLong.test(words.message ?? '') ? { ...words, code: 'context_length_exceeded' } : words;
}

/** The words of an error about the request; of others its status alone, since they may name the platform's account. */
export function parsePublicError(body: Fields): ProviderError {
  return withoutAccount(parseError(body));
}

/** The error in a body or an event with status 200, or null. */
export function publicErrorIn(fields: Fields): ProviderError | null {
  const error = errorIn(fields);
  return error === null ? null : withoutAccount(error);
}

/** The same of an error already read. */
export function withoutAccount(error: ProviderError): ProviderError {
  const { status, message: _message, code: _code, param: _param, ...others } = error;
  return status !== undefined && concernsRequest(status)
    ? error
    : { ...others, ...(status !== undefined && { status }) };
}
