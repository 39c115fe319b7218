import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../../dialects/dialect.ts';
import { writeError as writeChatError } from '../chat/errors.ts';

/** The body of an error in OpenAI's shape. */
export function writeError(error: ProviderError): Fields {
  return writeChatError(error);
}
