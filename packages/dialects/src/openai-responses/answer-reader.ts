import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { endingIn, type Answer, type AnswerPart, type Ending } from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { responseError } from './events.ts';
import { callOf, thinkingParts } from './input-reader.ts';

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, _source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const { output } = fields;
  const error = responseError(fields);
  if (error !== null && listOf(output).length === 0) return error;
  if (!Array.isArray(output)) throw new Error('the answer has no output');
  const parts = (output as unknown[]).filter(isFields).flatMap(partsOf);
  const ending = endingOf(fields);
  return {
    id: textOf(fields['id']),
    model: textIn(fields['model']) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(fields['usage']),
    serviceTier: readServiceTier(fields),
    broken: error ?? ending.broken,
  };
}

/** The parts of an item. Those of tools that the provider has are left out: requests for them are refused. */
export function partsOf(item: Fields): AnswerPart[] {
  switch (item['type']) {
    case 'message':
      return listOf(item['content']).filter(isFields).flatMap(contentPart);
    case 'reasoning':
      return thinkingParts(item);
    case 'function_call':
    case 'custom_tool_call':
      return [callOf(item)];
    default:
      return [];
  }
}

function contentPart({ type, text, refusal }: Fields): AnswerPart[] {
  if (type === 'refusal') return [{ kind: 'refusal', text: textOf(refusal) }];
  return type === 'output_text' ? [{ kind: 'text', text: textOf(text) }] : [];
}

/** The end of a response. One that is cancelled, or goes on, is not complete. */
export function endingOf({ status, incomplete_details: details }: Fields): Ending {
  const { reason } = Object(details) as Fields;
  if (status === 'incomplete')
    return {
      stop: { reason: reason === 'content_filter' ? 'refusal' : 'length', sequence: null },
      broken: null,
    };
  return endingIn(textIn(status) ?? 'completed', { completed: 'end' });
}
