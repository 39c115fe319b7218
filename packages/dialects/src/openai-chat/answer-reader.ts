import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn } from '../provider-errors.ts';
import { spokenText } from './message-text.ts';
import { errorInChoice, hasFinished } from './provider-error.ts';
import { callsIn } from './tool-calls.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';
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
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { chatOrigin } from '../translation/signatures.ts';
import { callOf, thoughtsOf } from './message-reader.ts';

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, _source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = errorIn(fields);
  if (error !== null) return error;
  const [choice] = listOf(fields['choices']);
  if (!isFields(choice)) throw new Error('the answer has no choice');
  const { message } = choice;
  const broken = errorInChoice(choice);
  if (!isFields(message)) {
    if (broken !== null) return broken;
    throw new Error('the answer has no message');
  }
  const ending = endingOf(choice['finish_reason']);
  return {
    id: textOf(fields['id']),
    model: textIn(fields['model']) ?? facts.name,
    parts: partsOf(message, facts),
    stop: ending.stop,
    broken: broken ?? ending.broken ?? (saysMedia(message) ? hasMedia : null),
    usage: usageIn(fields),
    serviceTier: readServiceTier(fields),
  };
}

/** Whether a message has images, as OpenRouter and others write them. */
export function saysMedia({ images }: Fields): boolean {
  return listOf(images).length > 0;
}

function partsOf(message: Fields, facts: ModelFacts): AnswerPart[] {
  const { refusal } = message;
  const text = outputText(message);
  const refused = textOf(refusal);
  return [
    ...thoughtsOf(message).map((part) => ({ ...part, signature: signatureOf(facts) })),
    ...(text === '' ? [] : [{ kind: 'text', text } as const]),
    ...(refused === '' ? [] : [{ kind: 'refusal', text: refused } as const]),
    ...callsIn(message).map((call) => callOf(call, newCallId())),
  ];
}

/** Names the model that thoughts without a signature are of. */
export function signatureOf({ name }: ModelFacts): { origin: string; text: string; isRedacted: boolean } {
  return { origin: chatOrigin(name), text: '', isRedacted: false };
}

/** The text of a message or a delta; the transcript of audio. */
export function outputText({ content, audio }: Fields): string {
  const { transcript } = Object(audio) as Fields;
  return spokenText(content) || textOf(transcript);
}

/** The end of a choice. Servers imitate OpenAI's words in part, and else use those of Anthropic, Google or their own. */
export function endingOf(reason: unknown): Ending {
  return hasFinished(reason)
    ? endingIn(String(reason).toLowerCase(), reasons)
    : { stop: { reason: 'end', sequence: null }, broken: null };
}

const reasons: Readonly<Record<string, StopReason>> = {
  ...{ stop: 'end', end: 'end', end_turn: 'end', eos: 'end', eos_token: 'end', complete: 'end' },
  ...{ completed: 'end', finished: 'end', stop_sequence: 'end' },
  ...{ length: 'length', max_tokens: 'length', max_output_tokens: 'length', model_length: 'length' },
  ...{ max_length: 'length', model_context_window_exceeded: 'context', context_length: 'context' },
  ...{ tool_calls: 'calls', tool_call: 'calls', function_call: 'calls', tool_use: 'calls' },
  ...{ content_filter: 'refusal', content_filtered: 'refusal', refusal: 'refusal', safety: 'refusal' },
  // Zhipu's.
  sensitive: 'refusal',
};
