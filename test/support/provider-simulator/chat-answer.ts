import type { ChatRequest, FunctionTool, ToolChoice } from './chat-request.ts';
import type { Fault, UsageOverride } from './faults.ts';
import { documentFor } from './json-document.ts';
import { firstCharacters, splitEvenly, splitIntoWords } from './values.ts';

/** A choice before serialization. Text is in the pieces of a stream. */
export interface AnswerChoice {
  index: number;
  /** Null if the model calls a tool or function. */
  pieces: string[] | null;
  toolCalls: AnsweredCall[];
  functionCall: AnsweredCall | null;
  finishReason: 'stop' | 'length' | 'tool_calls' | 'function_call';
}

export interface AnsweredCall {
  id: string;
  name: string;
  arguments: string;
}

export interface ChatAnswer {
  id: string;
  created: number;
  model: string;
  choices: AnswerChoice[];
  usage: Usage;
  logprobs: { top: number } | null;
}

/** The OpenAI usage object of chat completions. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: 0 };
  completion_tokens_details: {
    reasoning_tokens: number;
    audio_tokens: 0;
    accepted_prediction_tokens: 0;
    rejected_prediction_tokens: 0;
  };
}

const echoLimit = 2000;

/** Number of pieces in which the arguments of a call are streamed. */
export const argumentPieces = 4;

/** Equal requests and faults get equal answers; only `id` and `created` differ. */
export function answerChat(request: ChatRequest, fault: Fault, id: string): ChatAnswer {
  const calls = scriptedCalls(request, fault, id) ?? chosenCalls(request, fault, id);
  const choices = Array.from({ length: request.n }, (_, index) =>
    answerChoice(request, fault, { index, calls }),
  );
  return {
    id,
    created: Math.floor(Date.now() / 1000),
    model: fault.huge_model_bytes === undefined ? request.model : 'm'.repeat(fault.huge_model_bytes),
    choices,
    usage: usageOf(request.promptTokens, choices, fault.usage),
    logprobs: request.logprobs,
  };
}

interface Calls {
  tools: AnsweredCall[];
  function: AnsweredCall | null;
}

function answerChoice(
  request: ChatRequest,
  fault: Fault,
  { index, calls }: { index: number; calls: Calls | null },
): AnswerChoice {
  if (calls !== null) {
    const finishReason = calls.function === null ? 'tool_calls' : 'function_call';
    // Call ids are unique in a response, because clients use them as keys.
    const toolCalls = calls.tools.map((call) =>
      index === 0 ? call : { ...call, id: `${call.id}_${index}` },
    );
    return { index, pieces: null, toolCalls, functionCall: calls.function, finishReason };
  }
  const wanted = answerPieces(request, fault, index);
  const limit = fault.content === undefined ? request.maxWords : null;
  const cut = limit !== null && wanted.length > limit;
  const pieces = cut ? wanted.slice(0, limit) : wanted;
  return { index, pieces, toolCalls: [], functionCall: null, finishReason: cut ? 'length' : 'stop' };
}

function answerPieces(request: ChatRequest, fault: Fault, index: number): string[] {
  if (fault.huge_chunk_bytes !== undefined) {
    return fault.huge_chunk_bytes === 0 ? [] : ['x'.repeat(fault.huge_chunk_bytes)];
  }
  if (fault.content !== undefined) {
    return fault.chunks === undefined
      ? splitIntoWords(fault.content)
      : splitEvenly(fault.content, fault.chunks);
  }
  if (fault.chunks !== undefined) {
    return Array.from({ length: fault.chunks }, (_, word) => (word === 0 ? 'w1' : ` w${word + 1}`));
  }
  return splitIntoWords(defaultText(request, index));
}

function defaultText(request: ChatRequest, index: number): string {
  let text = 'This is the Gatehouse provider simulator.';
  if (request.lastUserText !== null) text += ` You said: ${firstCharacters(request.lastUserText, echoLimit)}`;
  if (request.toolAnswers.length > 0) {
    text += ` The tools said: ${firstCharacters(request.toolAnswers.join(' | '), echoLimit)}`;
  }
  if (index > 0) text += ` (choice ${index})`;
  if (request.responseFormat.kind === 'text') return text;
  const { schema } = request.responseFormat;
  // Indented, so that a document has words to stream like any other text.
  return JSON.stringify(schema === null ? { message: text } : documentFor(schema), null, 2);
}

function scriptedCalls(request: ChatRequest, fault: Fault, id: string): Calls | null {
  if (fault.tool_calls === undefined || request.toolChoice.kind === 'none') return null;
  const rounds = fault.tool_rounds ?? 1;
  if (request.toolRounds >= rounds) return null;
  return {
    function: null,
    tools: fault.tool_calls.map((call, index) => ({
      id: callId(id, index),
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    })),
  };
}

function chosenCalls(request: ChatRequest, fault: Fault, id: string): Calls | null {
  const textWanted = fault.content ?? fault.chunks ?? fault.huge_chunk_bytes;
  if (textWanted !== undefined) return null;
  const answer = (tool: FunctionTool, index: number): AnsweredCall => ({
    id: callId(id, index),
    name: tool.name,
    arguments: JSON.stringify(documentFor(tool.parameters) ?? {}),
  });
  const tools = toolsToCall(request, request.tools, request.toolChoice).slice(0, request.maxToolCalls);
  if (tools.length > 0) return { tools: tools.map(answer), function: null };
  const [chosen] = toolsToCall(request, request.functions, request.functionChoice);
  return chosen === undefined ? null : { tools: [], function: answer(chosen, 0) };
}

/** Calls a tool if the last message contains "tool" or if the request requires it. */
function toolsToCall(request: ChatRequest, tools: FunctionTool[], choice: ToolChoice): FunctionTool[] {
  if (tools.length === 0 || request.lastRole === 'tool' || request.lastRole === 'function') return [];
  switch (choice.kind) {
    case 'none':
      return [];
    case 'named':
      return tools.filter((tool) => tool.name === choice.name).slice(0, 1);
    case 'required':
      return tools;
    case 'auto':
      return request.lastRole === 'user' && /tool|function/i.test(request.lastUserText ?? '') ? tools : [];
  }
}

function callId(answerId: string, index: number): string {
  return `call_${answerId.replace('chatcmpl-', '')}_${index}`;
}

function usageOf(promptTokens: number, choices: AnswerChoice[], override: UsageOverride = {}): Usage {
  const prompt = override.prompt_tokens ?? promptTokens;
  const completion =
    override.completion_tokens ??
    choices.reduce((tokens, choice) => tokens + countCompletionTokens(choice), 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: override.cached_tokens ?? 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: override.reasoning_tokens ?? 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Counts one token per word; for a call, its name and the pieces of its arguments. */
function countCompletionTokens(choice: AnswerChoice): number {
  if (choice.pieces !== null) return splitIntoWords(choice.pieces.join('')).length;
  const calls = choice.functionCall === null ? choice.toolCalls : [choice.functionCall];
  return calls.reduce((tokens, call) => tokens + 1 + Math.min(argumentPieces, call.arguments.length), 0);
}
