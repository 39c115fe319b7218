import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../../dialects/dialect.ts';
import { objectIn, objectsIn, textOf, valueOf } from '../../dialects/gemini/fields.ts';
import { publicErrorIn } from '../../dialects/gemini/google-error.ts';
import { isBlocked } from '../../dialects/gemini/responses.ts';
import { readUsage } from '../../usage/usage-reader.ts';
import { withCalls, type Answer, type AnswerPart, type Stop } from '../answer.ts';
import type { ModelFacts } from '../api.ts';
import { textIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import { memberOf, sealOf } from './content-reader.ts';

/** See `AnswerApi`. */
export function readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = publicErrorIn(fields);
  const [candidate] = objectsIn(fields, 'candidates');
  if (error !== null && candidate === undefined) return error;
  if (candidate === undefined && !isBlocked(fields)) throw new Error('the answer has no candidate');
  const content = memberOf(source.member('candidates')?.element(0) ?? null, 'content')?.member('parts');
  const parts = objectsIn(objectIn(candidate ?? {}, 'content'), 'parts').flatMap((part, index) =>
    partsOf(part, { source: content?.element(index) ?? null, place: index }),
  );
  const stop = stopOf(candidate, fields);
  return {
    id: textIn(valueOf(fields, 'responseId')) ?? '',
    model: textIn(valueOf(fields, 'modelVersion')) ?? facts.name,
    parts,
    stop: withCalls(
      stop,
      parts.some(({ kind }) => kind === 'call'),
    ),
    usage: readUsage(valueOf(fields, 'usageMetadata')),
    serviceTier: null,
    broken: error,
  };
}

/** `place`: names a call without an id. Parts of tools that the provider has are left out. */
export function partsOf(
  part: Fields,
  { source, place }: { source: JsonSource | null; place: number },
): AnswerPart[] {
  const seal = sealOf(part);
  const { text } = part;
  const call = valueOf(part, 'functionCall');
  if (part['thought'] === true) return [{ kind: 'thinking', text: textOf(text), seal }];
  const before: AnswerPart[] = seal === null ? [] : [{ kind: 'thinking', text: '', seal }];
  if (!isFields(call))
    return typeof text === 'string' && text !== '' ? [...before, { kind: 'text', text }] : before;
  const called = { id: textOf(call['id']) || `call_${place}`, name: textOf(call['name']) };
  const argumentsText = memberOf(source, 'functionCall')?.textOf('args') ?? '{}';
  return [...before, { kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null }];
}

const refusals: ReadonlySet<string> = new Set([
  ...['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY', 'LANGUAGE'],
]);

/** A blocked prompt is a refusal. */
export function stopOf(candidate: Fields | undefined, response: Fields): Stop {
  const reason = textOf(candidate?.['finishReason'] ?? candidate?.['finish_reason']);
  if (refusals.has(reason) || (candidate === undefined && isBlocked(response)))
    return { reason: 'refusal', sequence: null };
  return { reason: reason === 'MAX_TOKENS' ? 'length' : 'end', sequence: null };
}
