import { functionCall } from '../translation/call-ids.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
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
import { type ReasoningSignature } from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { originOf } from '../model-facts.ts';
import { errorIn } from './errors.ts';

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = errorIn(fields);
  if (error !== null) return error;
  const { message } = Object(fields['output']) as Fields;
  if (!isFields(message) || !Array.isArray(message['content'])) throw new Error('the answer has no message');
  const blocks = source.member('output')?.member('message')?.member('content') ?? null;
  const parts = (message['content'] as unknown[]).flatMap((block, index) =>
    isFields(block) ? partsOf(block, blocks?.element(index) ?? null, facts) : [],
  );
  const ending = endingOf(fields);
  const lost = (message['content'] as unknown[]).some((block) => isFields(block) && isMedia(block));
  return {
    id: '',
    model: facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(fields['usage']),
    serviceTier: tierOf(fields),
    broken: ending.broken ?? (lost ? hasMedia : null),
  };
}

function partsOf(block: Fields, source: JsonSource | null, facts: ModelFacts): AnswerPart[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === 'string') return [{ kind: 'text', text }];
  if (isFields(toolUse)) return isOwn(toolUse) ? [callOf(toolUse, source?.member('toolUse') ?? null)] : [];
  if (isFields(reasoningContent)) return [thoughtOf(reasoningContent, facts)];
  if (!isFields(citationsContent)) return [];
  const citedTexts = listOf(citationsContent['content']).map((each) =>
    textIn((Object(each) as Fields)['text']),
  );
  return [{ kind: 'text', text: citedTexts.join('') }];
}

/** Calls of tools run by the provider are no calls for the client. */
export function isOwn({ type }: Fields): boolean {
  return type !== 'server_tool_use';
}

function callOf({ toolUseId, name }: Fields, source: JsonSource | null): AnswerPart {
  return functionCall(toolUseId, name, source?.textOf('input') ?? '{}');
}

function thoughtOf({ reasoningText, redactedContent }: Fields, facts: ModelFacts): AnswerPart {
  const { text, signature } = Object(reasoningText) as Fields;
  return {
    kind: 'thinking',
    text: textOf(text),
    signature: signatureOf({ signature: textOf(signature), redacted: textOf(redactedContent) }, facts),
  };
}

/** `redacted`: in base64. */
export function signatureOf(
  { signature, redacted }: { signature: string; redacted: string },
  facts: ModelFacts,
): ReasoningSignature | null {
  const origin = originOf(facts);
  if (redacted !== '') return { origin, text: redacted, isRedacted: true };
  return signature === '' ? null : { origin, text: signature, isRedacted: false };
}

/** The tier of an answer, or of the metadata of a stream. */
export function tierOf({ serviceTier }: Fields): string | null {
  return textIn((Object(serviceTier) as Fields)['type']);
}

/** The end of an answer, or of the event at the end of a stream. */
export function endingOf({ stopReason, additionalModelResponseFields }: Fields): Ending {
  if (typeof stopReason !== 'string') return { stop: { reason: 'end', sequence: null }, broken: null };
  const sequence = (Object(additionalModelResponseFields) as Fields)['stop_sequence'];
  return endingIn(stopReason, reasons, stopReason === 'stop_sequence' ? textIn(sequence) : null);
}

/** Blocks without a place in the APIs of clients. */
export function isMedia(block: Fields): boolean {
  return ['image', 'audio', 'video', 'document'].some((kind) => isFields(block[kind]));
}

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  max_tokens: 'length',
  stop_sequence: 'sequence',
  tool_use: 'calls',
  guardrail_intervened: 'refusal',
  content_filtered: 'refusal',
  refusal: 'refusal',
  model_context_window_exceeded: 'context',
};
