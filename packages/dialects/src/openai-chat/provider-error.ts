import type { Fields } from '@gatehouse/kit/fields';
import { parseError, saysSomething } from '../provider-errors.ts';
import type { ProviderError } from '../dialect.ts';

/** The error of a choice that broke off at the provider, or null. */
export function errorInChoice(choice: Fields): ProviderError | null {
  const { error, finish_reason: reason } = choice;
  if (saysSomething(error)) return parseError(choice);
  return typeof reason === 'string' && brokenOff.test(reason) ? {} : null;
}

/** Whether a finish reason says that a choice has ended. Some servers send an empty one, or Python's, with each chunk. */
export function hasFinished(reason: unknown): boolean {
  return typeof reason === 'string' && reason !== '' && !/^(?:null|none|undefined)$/i.test(reason);
}

/** `error`; vLLM's `abort`; Zhipu's `network_error`; DeepSeek's `insufficient_system_resource`. */
const brokenOff = /error|abort|^failed$|^insufficient_system_resource$/i;
