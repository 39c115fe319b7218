import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { awsException, errorIn } from './error-fields.ts';

/** The provider doesn't accept the key, or not for the call: some answer so where a scope is missing. */
export const wrongKey = 401;
/** The account of the key has no money or no allowance left. */
export const spentKey = 402;

/**
 * AWS's exceptions for an unacceptable key or signature
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html).
 */
const awsRefusals: ReadonlySet<string> = new Set([
  'ExpiredTokenException',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationToken',
  'MissingAuthenticationTokenException',
  'UnrecognizedClientException',
]);

/**
 * Google's reasons (https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto) with another
 * status: a wrong key is a 400 there.
 */
const googleReasons: ReadonlyMap<string, number> = new Map([
  ['API_KEY_INVALID', wrongKey],
  ['BILLING_DISABLED', spentKey],
]);

/** OpenAI's codes and types, and Anthropic's `billing_error`. */
const spentNames: ReadonlySet<unknown> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
]);

/** Beginnings of messages, where nothing else distinguishes the error. */
const openings: readonly (readonly [status: number, text: string, meant: number])[] = [
  // Bedrock, for an API key.
  [403, 'Authentication failed: Please make sure your API Key is valid', wrongKey],
  // Bedrock, for a place of the cache at a model without one.
  [403, 'You invoked an unsupported model or your request did not allow prompt caching', 400],
  // Anthropic.
  [400, 'Your credit balance is too low', spentKey],
  [400, 'This organization has been disabled', spentKey],
];

/**
 * The status of an error by its meaning for the key: providers have several for a wrong key, or for one of an account
 * with nothing left. Errors without concern for the key keep theirs.
 */
export function keyStatus(status: number, body: unknown, headers: Fields): number {
  if (status >= 500) return status;
  const { whole, error } = errorIn(body);
  if (awsRefusals.has(awsException(whole, headers))) return wrongKey;
  if (spentNames.has(error['code']) || spentNames.has(error['type'])) return spentKey;
  return googleStatus(error) ?? statusByWords(status, error) ?? status;
}

function googleStatus(error: Fields): number | undefined {
  for (const detail of listOf(error['details']).slice(0, 32)) {
    const { reason }: Fields = isFields(detail) ? detail : {};
    const googleReason = typeof reason === 'string' ? googleReasons.get(reason) : undefined;
    if (googleReason !== undefined) return googleReason;
  }
  return undefined;
}

function statusByWords(status: number, error: Fields): number | undefined {
  const message = error['message'] ?? error['Message'];
  if (typeof message !== 'string') return undefined;
  return openings.find(([openingStatus, text]) => openingStatus === status && message.startsWith(text))?.[2];
}
