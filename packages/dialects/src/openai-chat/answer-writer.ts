import type { Answer, StopReason } from '../translation/answer.ts';
import { chatIds, fittingId } from '../translation/call-ids.ts';
import { writeJson } from '../wire/json-text.ts';
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

/** See `ClientFormat`. */
export function writeAnswer(answer: Answer): string {
  const { parts, stop, usage, serviceTier } = answer;
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const refused = parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : []));
  const calls = parts.filter((part) => part.kind === 'call');
  const thought = parts.map((part) => (part.kind === 'thinking' ? part.text : '')).join('');
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: refused.length === 0 ? null : refused.join(''),
    ...(thought !== '' && { reasoning_content: thought }),
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

export function idOf(id: string): string {
  return id.startsWith('chatcmpl-') ? id : `chatcmpl-${id.replace(/^(?:msg|resp)_/, '')}`;
}

/** Seconds. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}
