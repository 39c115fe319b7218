import { echo, jsonText, numberedWords, textPieces } from '../answer-text.ts';
import type { Fault } from '../faults.ts';
import type { ThinkingSigner } from '../messages/thinking-signer.ts';
import { argumentPieces, scriptedCalls } from '../tool-calls.ts';
import { splitIntoWords } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { withTool } from './callable-tools.ts';
import { responseUsage } from './response-usage.ts';
import type { ResponseUsage } from './response-usage.ts';
import type { ResponsesRequest } from './responses-request.ts';
import { seal } from './sealed-content.ts';
import { wishedCalls } from './wished-calls.ts';

/** An item of the output before serialization. Text is in the pieces of a stream. */
export type AnsweredItem =
  | { type: 'reasoning'; id: string; summary: string[]; encrypted: string | null }
  | { type: 'message'; id: string; pieces: string[]; complete: boolean }
  | ({ type: 'function_call'; arguments: string; isCut: boolean } & AnsweredCall)
  | ({ type: 'custom_tool_call'; input: string } & AnsweredCall)
  | { type: 'compaction'; id: string; encrypted: string };

export interface AnsweredCall {
  id: string;
  call_id: string;
  name: string;
  namespace: string | null;
}

export interface ResponseAnswer {
  id: string;
  createdAt: number;
  model: string;
  /** The parameters of the request. */
  asked: JsonObject;
  output: AnsweredItem[];
  complete: boolean;
  usage: ResponseUsage;
}

export interface AnswerContext {
  newId: (prefix: string) => string;
  signer: ThinkingSigner;
}

/** Equal requests and faults get equal answers; only ids, times and encrypted content differ. */
export function answerResponses(
  request: ResponsesRequest,
  fault: Fault,
  { newId, signer }: AnswerContext,
): ResponseAnswer {
  const id = newId('resp_');
  const ids = new ItemIds(id);
  const thought = thoughtPieces(request, fault);
  const output = outputOf(request, fault, { ids, signer, thinkingTokens: thought.length });
  if (thought.length > 0) {
    const itemId = ids.next('rs');
    output.unshift({
      type: 'reasoning',
      id: itemId,
      summary: fault.thinking !== undefined || request.reasoning?.summarized === true ? thought : [],
      encrypted: request.reasoning?.encrypted === true ? seal(signer, 'reasoning', itemId) : null,
    });
  }
  const outputTokens = output.reduce((tokens, item) => tokens + countItem(item), thought.length);
  const counted = { input: request.inputTokens, output: outputTokens, reasoning: thought.length };
  return {
    id,
    createdAt: Math.floor(Date.now() / 1000),
    model: fault.huge_model_bytes === undefined ? request.model : 'm'.repeat(fault.huge_model_bytes),
    asked: request.body,
    output,
    complete: fault.calls_cut !== true && output.every((item) => item.type !== 'message' || item.complete),
    usage: responseUsage(counted, fault.usage),
  };
}

/** The ids of the items of one response. */
class ItemIds {
  readonly #space: string;
  #last = 0;

  constructor(answerId: string) {
    this.#space = answerId.replace('resp_', '');
  }

  next(prefix: string): string {
    return `${prefix}_${this.#space}_${this.#last++}`;
  }
}

function thoughtPieces(request: ResponsesRequest, fault: Fault): string[] {
  if (fault.thinking !== undefined) return numberedWords('t', fault.thinking);
  if (request.reasoning === null || request.compacts) return [];
  return splitIntoWords('The simulator thinks about what you said.');
}

interface Making {
  ids: ItemIds;
  signer: ThinkingSigner;
  thinkingTokens: number;
}

function outputOf(request: ResponsesRequest, fault: Fault, making: Making): AnsweredItem[] {
  const { ids, signer, thinkingTokens } = making;
  if (request.compacts) {
    const id = ids.next('cmp');
    return [{ type: 'compaction', id, encrypted: seal(signer, 'compaction', id) }];
  }
  const message = (pieces: string[], complete = true): AnsweredItem => ({
    type: 'message',
    id: ids.next('msg'),
    pieces,
    complete,
  });
  const calls = callsOf(request, fault, ids);
  if (calls.length > 0) {
    // A model may speak before it calls a tool.
    return fault.content === undefined ? calls : [message(textPieces(fault, () => '')), ...calls];
  }
  const wanted = textPieces(fault, () => defaultText(request));
  const exact = fault.content !== undefined || request.maxTokens === null;
  const limit = exact ? Infinity : Math.max(0, Number(request.maxTokens) - thinkingTokens);
  return [message(wanted.slice(0, limit), wanted.length <= limit)];
}

function defaultText(request: ResponsesRequest): string {
  const text = echo(request);
  return request.format.kind === 'text' ? text : jsonText(request.format.schema, text);
}

function callsOf(request: ResponsesRequest, fault: Fault, ids: ItemIds): AnsweredItem[] {
  const { toolChoice, toolRounds, tools } = request;
  const planned = scriptedCalls(fault, toolChoice, toolRounds) ?? wishedCalls(request, fault);
  return planned.map((call) => {
    const { tool, text } = withTool(call, tools);
    const { name, namespace } = tool;
    const called = { call_id: ids.next('call'), name, namespace };
    return tool.kind === 'custom'
      ? { type: 'custom_tool_call', id: ids.next('ctc'), ...called, input: text }
      : {
          type: 'function_call',
          id: ids.next('fc'),
          ...called,
          arguments: text,
          isCut: fault.calls_cut === true,
        };
  });
}

/** Counts one token per word; for a call, its name and the pieces of its arguments. Reasoning is counted apart. */
function countItem(item: AnsweredItem): number {
  switch (item.type) {
    case 'reasoning':
      return 0;
    case 'message':
      return splitIntoWords(item.pieces.join('')).length;
    case 'function_call':
      return 1 + Math.min(argumentPieces, item.arguments.length);
    case 'custom_tool_call':
      return 1 + Math.min(argumentPieces, item.input.length);
    case 'compaction':
      return 1;
  }
}
