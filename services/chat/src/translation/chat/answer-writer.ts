import type { Fields } from '@gatehouse/kit/fields';
import { sealedReasoningMember } from '../../dialects/openai/sealed-reasoning.ts';
import type { Answer, StopReason } from '../answer.ts';
import { chatIds, fittingId } from '../call-ids.ts';
import type { Seal } from '../conversation.ts';
import { writeJson } from '../json-text.ts';
import { writeUsage } from './usage.ts';

export const finishReasons: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  sequence: 'stop',
  pause: 'length',
  length: 'length',
  context: 'length',
  calls: 'tool_calls',
  refusal: 'content_filter',
};

/** See `AnswerApi`. */
export function writeAnswer(answer: Answer): string {
  const { parts, stop, usage, serviceTier } = answer;
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const refused = parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : []));
  const thoughts = parts.filter((part) => part.kind === 'thinking');
  const calls = parts.filter((part) => part.kind === 'call');
  const seals = thoughts.flatMap(({ text, seal }) => (seal === null ? [] : [sealOf(seal, text.length)]));
  const thought = thoughts.map(({ text }) => text).join('');
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: refused.length === 0 ? null : refused.join(''),
    ...(thought !== '' && { reasoning_content: thought }),
    ...(seals.length > 0 && { [sealedReasoningMember]: seals }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, argumentsText, isFreeform }) => ({
        id: fittingId(id, chatIds),
        ...(isFreeform
          ? { type: 'custom', custom: { name, input: argumentsText } }
          : { type: 'function', function: { name, arguments: argumentsText } }),
      })),
    }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReasons[stop.reason] };
  return writeJson({
    ...{ id: idOf(answer.id), object: 'chat.completion', created: now(), model: answer.model },
    choices: [choice],
    ...(usage !== null && { usage: writeUsage(usage) }),
    ...(serviceTier !== null && { service_tier: serviceTier }),
  });
}

/** The seal of a thought, and how many characters of all thoughts it is for. */
export function sealOf({ maker, text, isRedacted }: Seal, chars: number): Fields {
  return { maker, seal: text, chars, ...(isRedacted && { redacted: true }) };
}

export function idOf(id: string): string {
  return id.startsWith('chatcmpl-') ? id : `chatcmpl-${id.replace(/^(?:msg|resp)_/, '')}`;
}

/** Seconds. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}
