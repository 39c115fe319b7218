import type { Fault } from '../faults.ts';
import type { Frame } from '../frame.ts';
import { argumentPieces } from '../tool-calls.ts';
import { splitEvenly } from '../values.ts';
import type { JsonObject } from '../values.ts';
import type { MessageUsage } from './message-usage.ts';
import type { AnsweredBlock, MessageAnswer } from './messages-answer.ts';

/** The body of a unary response, without `usage` if the fault hides it. */
export function messageBody(answer: MessageAnswer, fault: Fault): string {
  return JSON.stringify({
    ...messageOf(answer),
    content: answer.blocks.map((block) => blockOf(block, fault)),
    stop_reason: answer.stopReason,
    stop_sequence: answer.stopSequence,
    usage: fault.no_usage === true ? undefined : answer.usage,
  });
}

/** The events of a streamed response in order. The `ping` follows the first start of a block, as Anthropic's does. */
export function messageFrames(answer: MessageAnswer, fault: Fault): Frame[] {
  const frames = [
    messageStart(answer, fault),
    ...answer.blocks.flatMap((block, index) => blockFrames(block, index)),
    ...messageDeltas(answer, fault),
    frameOf('done', { type: 'message_stop' }),
  ];
  frames.splice(answer.blocks.length === 0 ? 1 : 2, 0, frameOf('block', { type: 'ping' }));
  return frames;
}

function frameOf(kind: Frame['kind'], event: JsonObject & { type: string }, carriesUsage = false): Frame {
  return { kind, event: event.type, data: JSON.stringify(event), carriesUsage };
}

function messageOf({ id, model }: MessageAnswer): JsonObject {
  return {
    model,
    id,
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
  };
}

/** The first event has the input, and the first token of the output. */
function messageStart(answer: MessageAnswer, fault: Fault): Frame {
  const later = fault.input_usage === 'delta' ? { ...noInput, cache_creation: null } : {};
  const usage = { ...answer.usage, ...later };
  const first = { ...usage, output_tokens: Math.min(1, usage.output_tokens), output_tokens_details: null };
  const message = { ...messageOf(answer), usage: fault.no_usage === true ? undefined : first };
  return frameOf('opening', { type: 'message_start', message });
}

/** The last event but one has the usage of the whole message. */
function messageDeltas(answer: MessageAnswer, fault: Fault): Frame[] {
  const delta = {
    stop_reason: answer.stopReason,
    stop_sequence: answer.stopSequence,
    stop_details: null,
    container: null,
  };
  if (fault.no_usage === true) return [frameOf('usage', { type: 'message_delta', delta })];
  const usage = cumulative(answer.usage, fault);
  const frames = [frameOf('usage', { type: 'message_delta', delta, usage }, true)];
  if (fault.zeros_last === true) {
    const zeros = { ...noInput, output_tokens: 0 };
    frames.push(frameOf('usage', { type: 'message_delta', delta, usage: zeros }));
  }
  return frames;
}

const noInput = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

function cumulative(usage: MessageUsage, fault: Fault): JsonObject {
  const output = {
    output_tokens: usage.output_tokens,
    output_tokens_details: usage.output_tokens_details,
    server_tool_use: usage.server_tool_use,
  };
  if (fault.input_usage === 'start') return output;
  return {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_creation_input_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens,
    ...output,
  };
}

function blockOf(block: AnsweredBlock, fault: Fault): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: block.pieces.join(''), signature: block.signature };
    case 'redacted_thinking':
      return { ...block };
    case 'text':
      return { type: 'text', text: block.pieces.join(''), citations: null };
    case 'tool_use':
      return { ...toolUse(block), input: fault.calls_cut === true ? {} : parsedInput(block.json) };
  }
}

function blockFrames(block: AnsweredBlock, index: number): Frame[] {
  const { start, deltas, last } = partsOf(block);
  const delta = (kind: Frame['kind'], part: JsonObject): Frame =>
    frameOf(kind, { type: 'content_block_delta', index, delta: part });
  return [
    frameOf('block', { type: 'content_block_start', index, content_block: start }),
    ...deltas.map((part) => delta('content', part)),
    ...last.map((part) => delta('block', part)),
    frameOf('block', { type: 'content_block_stop', index }),
  ];
}

/** The start of a block, its content, and the deltas at its end that are no content. */
interface BlockParts {
  start: JsonObject;
  deltas: JsonObject[];
  last: JsonObject[];
}

function partsOf(block: AnsweredBlock): BlockParts {
  switch (block.type) {
    case 'thinking':
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: block.pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
        last: [{ type: 'signature_delta', signature: block.signature }],
      };
    case 'redacted_thinking':
      return { start: { ...block }, deltas: [], last: [] };
    case 'text':
      return {
        start: { type: 'text', text: '', citations: null },
        deltas: block.pieces.map((text) => ({ type: 'text_delta', text })),
        last: [],
      };
    case 'tool_use':
      return {
        start: { ...toolUse(block), input: {} },
        deltas: ['', ...splitEvenly(block.json, argumentPieces)].map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
        last: [],
      };
  }
}

function toolUse({ id, name }: { id: string; name: string }): JsonObject {
  return { type: 'tool_use', id, name, caller: { type: 'direct' } };
}

/** The input as written where it is no JSON, which only a fault can cause. */
function parsedInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
