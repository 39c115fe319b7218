import { errorIn } from './api-error.ts';
import { send } from './call.ts';
import { dataOf } from './server-events.ts';

/** A message of a chat completion. */
export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

/** A call of a tool by the model, as far as it has arrived. */
export interface ToolCall {
  name: string;
  arguments: string;
}

/** An answer of a model as far as it has arrived. */
export interface Completion {
  text: string;
  toolCalls: readonly ToolCall[];
  finishReason: string | null;
}

interface Delta {
  content?: string | null;
  tool_calls?: { index: number; function?: { name?: string; arguments?: string } }[];
}

interface Chunk {
  error?: unknown;
  choices?: { delta?: Delta; finish_reason?: string | null }[];
}

export const nothingYet: Completion = { text: '', toolCalls: [], finishReason: null };

/**
 * Streams a chat completion. Calls `onChange` with each state of the answer; resolves to the id of the run. Throws an
 * `ApiError`, also for an error in the stream.
 */
export async function complete(
  { model, messages }: { model: string; messages: readonly Message[] },
  onChange: (completion: Completion) => void,
  signal: AbortSignal,
): Promise<string | null> {
  const body = { model, messages, stream: true };
  const response = await send('/v1/chat/completions', { method: 'POST', body, signal });
  const requestId = response.headers.get('x-request-id');
  let completion = nothingYet;
  if (response.body !== null) {
    for await (const data of dataOf(response.body)) {
      if (data === '[DONE]') break;
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error !== undefined) throw errorIn(data, { status: response.status, requestId });
      completion = withChunk(completion, chunk);
      onChange(completion);
    }
  }
  return response.headers.get('x-run-id');
}

/** The answer with one more chunk of its stream. */
export function withChunk(completion: Completion, { choices = [] }: Chunk): Completion {
  const [choice] = choices;
  if (choice === undefined) return completion;
  const { delta = {}, finish_reason: reason } = choice;
  const toolCalls = [...completion.toolCalls];
  for (const { index, function: called } of delta.tool_calls ?? []) {
    const known = toolCalls[index] ?? { name: '', arguments: '' };
    toolCalls[index] = {
      name: known.name + (called?.name ?? ''),
      arguments: known.arguments + (called?.arguments ?? ''),
    };
  }
  return {
    text: completion.text + (delta.content ?? ''),
    toolCalls,
    finishReason: reason ?? completion.finishReason,
  };
}
