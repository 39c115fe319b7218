import { echo, jsonText, numberedWords, textPieces } from '../answer-text.ts';
import type { Fault } from '../faults.ts';
import type { ChargedUsage } from '../records.ts';
import { argumentPieces, chosenCalls, scriptedCalls } from '../tool-calls.ts';
import { splitIntoWords } from '../values.ts';
import { charged, messageUsage } from './message-usage.ts';
import type { MessageUsage } from './message-usage.ts';
import type { MessagesRequest } from './messages-request.ts';
import type { PromptCache } from './prompt-cache.ts';
import { stopAt } from './stop-sequences.ts';
import { redacted } from './thinking-signer.ts';
import type { ThinkingSigner } from './thinking-signer.ts';

/** A content block before serialization. Text is in the pieces of a stream. */
export type AnsweredBlock =
  | { type: 'thinking'; pieces: string[]; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'text'; pieces: string[] }
  | { type: 'tool_use'; id: string; name: string; json: string };

export interface MessageAnswer {
  id: string;
  model: string;
  blocks: AnsweredBlock[];
  stopReason: 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
  stopSequence: string | null;
  usage: MessageUsage;
  charged: ChargedUsage;
}

export interface AnswerContext {
  newId: (prefix: string) => string;
  signer: ThinkingSigner;
  cache: PromptCache;
  /** Behind the answer's id in signatures. */
  boundTo?: string;
}

/** Equal requests and faults get equal answers; only ids, signatures and the use of the cache differ. */
export function answerMessages(
  request: MessagesRequest,
  fault: Fault,
  { newId, signer, cache, boundTo = '' }: AnswerContext,
): MessageAnswer {
  const id = newId('msg_');
  const signedId = id + boundTo;
  const thought = thoughtPieces(request, fault);
  const shown = request.thinking === 'omitted' ? [] : thought;
  const { blocks, ...stop } = answerBlocks(request, fault, { id, thinkingTokens: thought.length });
  if (fault.redacted_thinking === true) {
    blocks.unshift({ type: 'redacted_thinking', data: signer.sign(signedId, redacted) });
  }
  if (thought.length > 0) {
    blocks.unshift({ type: 'thinking', pieces: shown, signature: signer.sign(signedId, shown.join('')) });
  }
  const output = { tokens: thought.length + countOutput(blocks), thinking: thought.length };
  const usage = messageUsage(cache.charge(request.model, request.input), output, fault.usage);
  return {
    id,
    model: fault.huge_model_bytes === undefined ? request.model : 'm'.repeat(fault.huge_model_bytes),
    blocks,
    ...stop,
    usage,
    charged: charged(usage),
  };
}

function thoughtPieces(request: MessagesRequest, fault: Fault): string[] {
  if (fault.thinking !== undefined) return numberedWords('t', fault.thinking);
  return request.thinking === null ? [] : splitIntoWords('The simulator thinks about what you said.');
}

interface Blocks {
  blocks: AnsweredBlock[];
  stopReason: MessageAnswer['stopReason'];
  stopSequence: string | null;
}

function answerBlocks(
  request: MessagesRequest,
  fault: Fault,
  answer: { id: string; thinkingTokens: number },
): Blocks {
  const calls = callsOf(request, fault, answer.id);
  if (calls.length > 0) {
    // A model may speak before it calls a tool.
    const spoken = fault.content === undefined ? [] : textBlocks(textPieces(fault, () => ''));
    const stopReason = fault.calls_cut === true ? 'max_tokens' : 'tool_use';
    return { blocks: [...spoken, ...calls], stopReason, stopSequence: null };
  }
  const wanted = textPieces(fault, () => defaultText(request));
  const exact = fault.content !== undefined;
  const { pieces, stopSequence } = stopAt(wanted, exact ? [] : request.stopSequences);
  if (stopSequence !== null) return { blocks: textBlocks(pieces), stopReason: 'stop_sequence', stopSequence };
  const limit = exact ? Infinity : Math.max(0, request.maxTokens - answer.thinkingTokens);
  const stopReason = pieces.length > limit ? 'max_tokens' : 'end_turn';
  return { blocks: textBlocks(pieces.slice(0, limit)), stopReason, stopSequence };
}

/** No block at all for no text: clients could not send an empty one back. */
function textBlocks(pieces: string[]): AnsweredBlock[] {
  return pieces.length === 0 ? [] : [{ type: 'text', pieces }];
}

function defaultText(request: MessagesRequest): string {
  const text = echo(request);
  return request.schema === null ? text : jsonText(request.schema, text);
}

function callsOf(request: MessagesRequest, fault: Fault, answerId: string): AnsweredBlock[] {
  const { toolChoice: choice, toolAnswers } = request;
  const userText = request.prefilled ? null : request.lastUserText;
  const turn = { choice, afterTools: toolAnswers.length > 0, userText };
  const calls =
    scriptedCalls(fault, choice, request.toolRounds) ??
    chosenCalls(request.tools, turn, fault).slice(0, request.maxToolCalls);
  return calls.map((call, index) => ({
    type: 'tool_use',
    id: `${answerId.replace('msg_', 'toolu_')}_${index}`,
    name: call.name,
    json: call.arguments,
  }));
}

/** Counts one token per word; for a call, its name and the pieces of its input. Thinking is counted apart. */
function countOutput(blocks: AnsweredBlock[]): number {
  return blocks.reduce((tokens, block) => tokens + countBlock(block), 0);
}

function countBlock(block: AnsweredBlock): number {
  switch (block.type) {
    case 'thinking':
    case 'redacted_thinking':
      return 0;
    case 'text':
      return splitIntoWords(block.pieces.join('')).length;
    case 'tool_use':
      return 1 + Math.min(argumentPieces, block.json.length);
  }
}
