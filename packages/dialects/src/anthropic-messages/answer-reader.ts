import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { publicErrorIn } from '../public-errors.ts';
import type { ProviderError } from '../dialect.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import {
  endingIn,
  type Answer,
  type AnswerPart,
  type Ending,
  type StopReason,
} from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { textIn } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { thinkingPart } from './content-reader.ts';

/** See `AnswerApi`. */
export function readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = publicErrorIn(fields);
  const { content } = fields;
  if (error !== null && listOf(content).length === 0) return error;
  if (!Array.isArray(content)) throw new Error('the answer has no content');
  const blocks = source.member('content');
  const parts = (content as unknown[]).flatMap((block, index) =>
    isFields(block) ? partOf(block, blocks?.element(index) ?? null) : [],
  );
  const ending = endingOf(fields);
  return {
    id: textIn(fields['id']) ?? '',
    model: textIn(fields['model']) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(fields['usage']),
    serviceTier: readServiceTier(fields),
    broken: error ?? ending.broken,
  };
}

/** Blocks of tools that the provider has are left out: requests for them are refused. */
function partOf(block: Fields, source: JsonSource | null): AnswerPart[] {
  const { type, text, id, name } = block;
  switch (type) {
    case 'text':
      return [{ kind: 'text', text: textIn(text) ?? '' }];
    case 'thinking':
    case 'redacted_thinking':
      return [thinkingPart(block)];
    case 'tool_use': {
      const argumentsText = source?.textOf('input') ?? '{}';
      const called = { id: textIn(id) ?? '', name: textIn(name) ?? '' };
      return [{ kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null }];
    }
    default:
      return [];
  }
}

/** The end of a message, or of the delta at its end. */
export function endingOf({ stop_reason: reason, stop_sequence: sequence }: Fields): Ending {
  return typeof reason === 'string'
    ? endingIn(reason, reasons, textIn(sequence))
    : { stop: { reason: 'end', sequence: textIn(sequence) }, broken: null };
}

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  max_tokens: 'length',
  stop_sequence: 'sequence',
  tool_use: 'calls',
  pause_turn: 'pause',
  compaction: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context',
};
