import { echo, jsonText, textPieces } from './answer-text.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Fault, UsageOverride } from './faults.ts';
import { argumentPieces, chosenCalls, scriptedCalls } from './tool-calls.ts';
import type { PlannedCall, ToolChoice, ToolTurn } from './tool-calls.ts';
import { splitIntoWords } from './values.ts';

/** A choice before serialization. Text is in the pieces of a stream. */
export interface AnswerChoice {
  index: number;
  /** Null if the model calls a tool or function. */
  pieces: string[] | null;
  toolCalls: AnsweredCall[];
  functionCall: AnsweredCall | null;
  finishReason: 'stop' | 'length' | 'tool_calls' | 'function_call';
}

export interface AnsweredCall extends PlannedCall {
  id: string;
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

/** Equal requests and faults get equal answers; only `id` and `created` differ. */
export function answerChat(request: ChatRequest, fault: Fault, id: string): ChatAnswer {
  const calls = callsOf(request, fault, id);
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
    const called = calls.function === null ? 'tool_calls' : 'function_call';
    const finishReason = fault.calls_cut === true ? 'length' : called;
    // Call ids are unique in a response, because clients use them as keys.
    const toolCalls = calls.tools.map((call) =>
      index === 0 ? call : { ...call, id: `${call.id}_${index}` },
    );
    return { index, pieces: null, toolCalls, functionCall: calls.function, finishReason };
  }
  const wanted = textPieces(fault, () => defaultText(request, index));
  const limit = fault.content === undefined ? request.maxWords : null;
  const cut = limit !== null && wanted.length > limit;
  const pieces = cut ? wanted.slice(0, limit) : wanted;
  return { index, pieces, toolCalls: [], functionCall: null, finishReason: cut ? 'length' : 'stop' };
}

function defaultText(request: ChatRequest, index: number): string {
  const text = echo(request) + (index > 0 ? ` (choice ${index})` : '');
  if (request.responseFormat.kind === 'text') return text;
  return jsonText(request.responseFormat.schema, text);
}

function callsOf(request: ChatRequest, fault: Fault, id: string): Calls | null {
  const withId = (call: PlannedCall, index: number): AnsweredCall => ({ id: callId(id, index), ...call });
  const scripted = scriptedCalls(fault, request.toolChoice, request.toolRounds);
  if (scripted !== null) return { tools: scripted.map(withId), function: null };
  const tools = chosenCalls(request.tools, turnOf(request, request.toolChoice), fault);
  if (tools.length > 0) return { tools: tools.slice(0, request.maxToolCalls).map(withId), function: null };
  const [chosen] = chosenCalls(request.functions, turnOf(request, request.functionChoice), fault);
  return chosen === undefined ? null : { tools: [], function: withId(chosen, 0) };
}

function turnOf({ lastRole, lastUserText }: ChatRequest, choice: ToolChoice): ToolTurn {
  return {
    choice,
    afterTools: lastRole === 'tool' || lastRole === 'function',
    userText: lastRole === 'user' ? lastUserText : null,
  };
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
