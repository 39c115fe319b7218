import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../src/dialect.ts';
import type { ModelFacts } from '../src/translation/api.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween, type TranslatedAnswer } from '../src/translation/translation.ts';
import { Pieces } from '../src/wire/pieces.ts';

/** Requests on their way to a provider. For tests. */

interface Translated {
  body: Fields;
  text: string;
  ignored: string[];
}

/** `request`: its fields, or its JSON text. */
export function translator(
  from: DialectName,
  to: DialectName | 'converse',
): (request: Fields | string, model?: Partial<ModelFacts>) => Promise<Translated> {
  return async (request, model = {}) => {
    const text = typeof request === 'string' ? request : JSON.stringify(request);
    const translation = translationBetween(from, to, { ...facts, ...model });
    const { body, ignored } = await translation.request(Pieces.from(Buffer.from(text)), { tenantId: null });
    return { body: JSON.parse(body.toString()) as Fields, text: body.toString(), ignored };
  };
}

/** The shortest conversation, in chat completions and in messages. */
export const ask = [{ role: 'user', content: 'Go' }];

/** A whole answer that was translated. */
export function answerIn(read: TranslatedAnswer | ProviderError): TranslatedAnswer {
  if ('bytes' in read) return read;
  throw new Error(`the answer is an error: ${read.message ?? ''}`);
}

/** The bytes of a whole answer that was translated. */
export function writtenIn(read: TranslatedAnswer | ProviderError): Buffer {
  return answerIn(read).bytes;
}
