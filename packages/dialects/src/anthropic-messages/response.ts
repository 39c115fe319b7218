import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { AnswerJson } from '../wire/answer-json.ts';
import { NoAnswer, type ProviderError, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { publicErrorIn } from '../provider-errors.ts';
import {
  endingIn,
  type Answer,
  type AnswerPart,
  type Ending,
  type Stop,
  type StopReason,
} from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { textIn, textOf } from '../translation/fields.ts';
import { writeJson, type JsonSource } from '../wire/json-text.ts';
import { functionCall, fittingId, messagesIds } from '../translation/call-ids.ts';
import { type ReasoningSignature } from '../translation/conversation.ts';
import { markedSignature } from '../translation/signatures.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools } from './stream.ts';
import { thinkingPart } from './content-reader.ts';
import { inputOf } from './content-writer.ts';
import { partsOf, type Usage } from '../usage/usage.ts';
import { writeUsage as writeChatUsage } from '../openai-chat/usage.ts';
import { maxParts } from '../bounds.ts';

/** Members beside the content by which an answer is recognised. */
const memberNames = [
  ...['type', 'model', 'usage', 'stop_reason'],
  ...['error', 'message', 'code', 'status', 'success'],
];

/** Throws `NoAnswer`, so a broken provider does not count as a success. */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = await AnswerJson.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(null);
  const blocks = (await (await whole.member('content'))?.elements(maxParts)) ?? null;
  const error = publicErrorIn(answer);
  if (blocks === null || (error !== null && blocks.length === 0)) throw new NoAnswer(error);
  const meter = new AnswerMeter(keepsText);
  meter.callsTools = callsTools(answer);
  meter.addModel(answer['model']);
  for (const block of blocks) {
    const value = meter.isFull ? undefined : await block.value();
    if (value === undefined) meter.sample.addChars(block.chars);
    else meter.addText(contentText([value]), spokenText([value]));
  }
  return meter.whole({
    broken: error,
    usage: readUsage(answer['usage']),
    serviceTier: readServiceTier(answer),
  });
}

/** See `ProviderFormat`. */
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
    id: textOf(fields['id']),
    model: textIn(fields['model']) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(fields['usage']),
    serviceTier: readServiceTier(fields),
    broken: error ?? ending.broken,
  };
}

/** Blocks of the provider's own tools are left out: requests for them are refused. */
function partOf(block: Fields, source: JsonSource | null): AnswerPart[] {
  const { type, text, id, name } = block;
  switch (type) {
    case 'text':
      return [{ kind: 'text', text: textOf(text) }];
    case 'thinking':
    case 'redacted_thinking':
      return [thinkingPart(block)];
    case 'tool_use':
      return [functionCall(id, name, source?.textOf('input') ?? '{}')];
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

const stopReasons: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  sequence: 'stop_sequence',
  refusal: 'refusal',
  context: 'model_context_window_exceeded',
  pause: 'pause_turn',
};

/** See `ClientFormat`. */
export function writeAnswer({ id, model, parts, stop, usage, serviceTier }: Answer): string {
  return writeJson({
    ...{ id: idOf(id), type: 'message', role: 'assistant', model },
    content: parts.flatMap(blockOf),
    ...stopFields(stop),
    usage: { ...writeUsage(usage), ...(serviceTier !== null && { service_tier: serviceTier }) },
  });
}

export function stopFields({ reason, sequence }: Stop): Fields {
  const stop_details = reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
  return {
    stop_reason: stopReasons[reason],
    stop_sequence: sequence,
    ...(stop_details !== null && { stop_details }),
  };
}

function blockOf(part: AnswerPart): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'thinking':
      return [{ type: 'thinking', thinking: part.text, signature: signatureOf(part.signature) }];
    case 'call': {
      const { id, name, argumentsText } = part;
      return [{ type: 'tool_use', id: fittingId(id, messagesIds), name, input: inputOf(argumentsText) }];
    }
  }
}

export function signatureOf(signature: ReasoningSignature | null): string {
  return signature === null ? '' : markedSignature(signature);
}

export function idOf(id: string): string {
  return id.startsWith('msg_') ? id : `msg_${id.replace(/^(?:chatcmpl-|resp_)/, '')}`;
}

/**
 * Usage as Anthropic writes it. It has no name for tokens other than text: where there are some, OpenAI's names stand
 * beside its own, and the reader looks at them first. Without a report all is zero, which counts as no usage.
 */
export function writeUsage(usage: Usage | null): Fields {
  if (usage === null) return { input_tokens: 0, output_tokens: 0 };
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const parts = partsOf(usage);
  const hourly = parts.cacheWrite1h;
  const hasMedia = Object.entries(parts).some(([name, count]) => count > 0 && /Audio|Image|Video/.test(name));
  return {
    input_tokens: inputTokens - cachedInputTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    ...(hourly > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWriteTokens - hourly,
        ephemeral_1h_input_tokens: hourly,
      },
    }),
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...(hasMedia && writeChatUsage(usage)),
  };
}
