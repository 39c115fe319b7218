import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../../dialects/dialect.ts';
import { errorIn } from '../../dialects/error-words.ts';
import { spokenText } from '../../dialects/openai/message-text.ts';
import { errorInChoice } from '../../dialects/openai/provider-error.ts';
import { callsIn } from '../../dialects/openai/tool-calls.ts';
import { readServiceTier, usageIn } from '../../usage/usage-reader.ts';
import { withCalls, type Answer, type AnswerPart, type Stop } from '../answer.ts';
import type { ModelFacts } from '../api.ts';
import { textIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import { chatMaker } from '../seals.ts';
import { callOf, thoughtsOf } from './message-reader.ts';

/** See `AnswerApi`. */
export function readAnswer(fields: Fields, _source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = errorIn(fields);
  if (error !== null) return error;
  const [choice] = listOf(fields['choices']);
  if (!isFields(choice)) throw new Error('the answer has no choice');
  const { message, finish_reason: reason } = choice;
  const broken = errorInChoice(choice);
  if (!isFields(message)) {
    if (broken !== null) return broken;
    throw new Error('the answer has no message');
  }
  const parts = partsOf(message, facts);
  const stop = withCalls(
    stopOf(reason),
    parts.some(({ kind }) => kind === 'call'),
  );
  return {
    id: textIn(fields['id']) ?? '',
    model: textIn(fields['model']) ?? facts.name,
    ...{ parts, stop, broken },
    usage: usageIn(fields),
    serviceTier: readServiceTier(fields),
  };
}

function partsOf(message: Fields, facts: ModelFacts): AnswerPart[] {
  const { content, refusal } = message;
  const text = spokenText(content);
  const refused = textIn(refusal) ?? '';
  return [
    ...thoughtsOf(message).map((part) => ({ ...part, seal: part.seal ?? sealOf(facts) })),
    ...(text === '' ? [] : [{ kind: 'text', text } as const]),
    ...(refused === '' ? [] : [{ kind: 'refusal', text: refused } as const]),
    ...callsIn(message).map((call, index) => callOf(call, String(index))),
  ];
}

/** Names the model that thoughts without a signature are of. */
export function sealOf({ name }: ModelFacts): { maker: string; text: string; isRedacted: boolean } {
  return { maker: chatMaker(name), text: '', isRedacted: false };
}

export function stopOf(reason: unknown): Stop {
  const known = typeof reason === 'string' ? reasons[reason] : undefined;
  return { reason: known ?? 'end', sequence: null };
}

const reasons: Readonly<Record<string, Stop['reason'] | undefined>> = {
  stop: 'end',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
};
