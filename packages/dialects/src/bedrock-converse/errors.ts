import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { converseWords, parseError, withoutAccount } from '../provider-errors.ts';
import { textOf } from '../translation/fields.ts';

/** Statuses of Bedrock's exceptions, for those without a status of their own. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['AccessDeniedException', 403],
  ['InternalServerException', 500],
  ['ModelErrorException', 424],
  ['ModelNotReadyException', 429],
  ['ModelStreamErrorException', 502],
  ['ModelTimeoutException', 408],
  ['ResourceNotFoundException', 404],
  ['ServiceQuotaExceededException', 429],
  ['ServiceUnavailableException', 503],
  ['ThrottlingException', 429],
  ['ValidationException', 400],
]);

/** An exception in a stream, or in the body of an answer. */
export function exceptionIn(fields: Fields): ProviderError {
  const type = exceptionName(textOf(fields['__type']));
  const { message } = parseError({ message: fields['message'] ?? fields['Message'] });
  const status = statuses.get(type) ?? 500;
  return withoutAccount({ status, ...converseWords({ message }) });
}

/** The error in a whole answer; null for any other answer. */
export function errorIn(fields: Fields): ProviderError | null {
  if (isFields(fields['output'])) return null;
  const isError = [fields['__type'], fields['message'], fields['Message']].some(
    (word) => typeof word === 'string',
  );
  return isError ? exceptionIn(fields) : null;
}

/** A name may have a namespace before it and an address behind it. In streams it begins with a small letter. */
export function exceptionName(type: string): string {
  const [, name = ''] = /(?:^|#)([A-Za-z]{1,100})(?::|$)/.exec(type.slice(0, 400)) ?? [];
  return name.charAt(0).toUpperCase() + name.slice(1);
}
