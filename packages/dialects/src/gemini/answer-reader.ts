import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { memberIn, objectIn, objectsIn, textOf, valueOf } from './fields.ts';
import { publicErrorIn } from './google-error.ts';
import { hasFinished, isBlocked } from './responses.ts';
import { readUsage } from '../usage/usage-reader.ts';
import {
  endingIn,
  hasMedia,
  type Answer,
  type AnswerPart,
  type Ending,
  type StopReason,
} from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { newCallId } from '../translation/call-ids.ts';
import { textIn } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { readSignature } from './content-reader.ts';

/** See `AnswerApi`. */
export function readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = publicErrorIn(fields);
  const [candidate] = objectsIn(fields, 'candidates');
  if (error !== null && candidate === undefined) return error;
  if (candidate === undefined && !isBlocked(fields)) throw new Error('the answer has no candidate');
  const content = memberIn(source.member('candidates')?.element(0) ?? null, 'content')?.member('parts');
  const parts = objectsIn(objectIn(candidate ?? {}, 'content'), 'parts').flatMap((part, index) =>
    partsOf(part, content?.element(index) ?? null),
  );
  const ending = endingOf(candidate, fields);
  return {
    id: textIn(valueOf(fields, 'responseId')) ?? '',
    model: textIn(valueOf(fields, 'modelVersion')) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(valueOf(fields, 'usageMetadata')),
    serviceTier: null,
    broken: error ?? ending.broken,
  };
}

/** Parts of tools that the provider has are left out. */
export function partsOf(part: Fields, source: JsonSource | null): AnswerPart[] {
  const signature = readSignature(part);
  const { text } = part;
  const call = valueOf(part, 'functionCall');
  if (part['thought'] === true) return [{ kind: 'thinking', text: textOf(text), signature }];
  const before: AnswerPart[] = signature === null ? [] : [{ kind: 'thinking', text: '', signature }];
  if (!isFields(call))
    return typeof text === 'string' && text !== '' ? [...before, { kind: 'text', text }] : before;
  const called = { id: textOf(call['id']) || newCallId(), name: textOf(call['name']) };
  const argumentsText = memberIn(source, 'functionCall')?.textOf('args') ?? '{}';
  return [...before, { kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null }];
}

/** Parts with an image, a sound or a file. */
function isMedia(part: Fields): boolean {
  return isFields(valueOf(part, 'inlineData')) || isFields(valueOf(part, 'fileData'));
}

/** Others say that the model did not complete its answer, such as `MALFORMED_FUNCTION_CALL`, `OTHER` and `NO_IMAGE`. */
const reasons: Readonly<Record<string, StopReason>> = {
  ...{ STOP: 'end', MAX_TOKENS: 'length', CONTINUATION: 'pause' },
  ...{ SAFETY: 'refusal', RECITATION: 'refusal', LANGUAGE: 'refusal', BLOCKLIST: 'refusal' },
  ...{ PROHIBITED_CONTENT: 'refusal', SPII: 'refusal', IMAGE_SAFETY: 'refusal' },
  ...{ IMAGE_PROHIBITED_CONTENT: 'refusal', IMAGE_RECITATION: 'refusal' },
};

/** The end of a candidate, or of a frame that has a piece of it. A blocked prompt is a refusal. */
export function endingOf(candidate: Fields | undefined, response: Fields): Ending {
  if (candidate === undefined && isBlocked(response))
    return { stop: { reason: 'refusal', sequence: null }, broken: null };
  const finishReason = valueOf(candidate ?? {}, 'finishReason');
  const ending = hasFinished({ finishReason })
    ? endingIn(textOf(finishReason), reasons)
    : ({ stop: { reason: 'end', sequence: null }, broken: null } as const);
  const saysMedia = objectsIn(objectIn(candidate ?? {}, 'content'), 'parts').some(isMedia);
  return saysMedia ? { ...ending, broken: hasMedia } : ending;
}
