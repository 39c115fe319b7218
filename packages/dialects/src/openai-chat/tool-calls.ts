import { maxCalls } from '../bounds.ts';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { AssistantMessage, ToolCall } from '../dialect.ts';
import { argumentsObject, argumentsText, readCalls, withNewIds } from '../tool-arguments.ts';
import type { IdRule } from '../translation/call-ids.ts';
import { textOf } from '../translation/fields.ts';

/** Servers of this API give ids of any form. */
const callIds: IdRule = { fits: (id) => id !== '', prefix: 'call_' };

interface FunctionCall extends ToolCall {
  /** The call in OpenAI's shape, for the next request. Servers refuse arguments there unless they are a JSON object. */
  fields: Fields;
}

/** A message of a model. */
export class ChatAssistantMessage implements AssistantMessage {
  /** As the model wrote it; `identified` adds the calls for the next request. */
  readonly message: Fields;
  readonly calls: readonly FunctionCall[];
  readonly isSigned = false;

  private constructor(message: Fields, calls: readonly FunctionCall[]) {
    this.message = message;
    this.calls = calls;
  }

  static of(message: Fields, calls: readonly Fields[]): ChatAssistantMessage {
    const { tool_calls: _calls, function_call: _old, ...others } = message;
    return new ChatAssistantMessage(others, functionCalls(calls));
  }

  /** The same for an answer with this `finish_reason`: calls of a broken-off answer are not to be made. */
  finished(reason: unknown): ChatAssistantMessage {
    return brokenOff.has(reason) ? new ChatAssistantMessage(this.message, []) : this;
  }

  identified(used: Set<string>): ChatAssistantMessage {
    if (this.calls.length === 0) return this;
    const calls = withNewIds(this.calls, used, callIds).map((call) => ({
      ...call,
      fields: { ...call.fields, id: call.id },
    }));
    return new ChatAssistantMessage(
      { ...this.message, tool_calls: calls.map(({ fields }) => fields) },
      calls,
    );
  }

  get text(): string {
    return JSON.stringify({ ...this.message, role: 'assistant' });
  }

  resultTexts(results: readonly string[]): string[] {
    return this.calls.map(({ id }, index) =>
      JSON.stringify({ role: 'tool', tool_call_id: id, content: results[index] ?? '' }),
    );
  }
}

const brokenOff = new Set<unknown>(['length', 'content_filter']);

/** Why a choice ends without calls of the gateway's tools, which the client does not see. */
export function reasonWithoutOwn(reason: unknown): unknown {
  return brokenOff.has(reason) ? reason : 'stop';
}

/** The message of a unary response's first choice; null without one. Throws at too many tool calls. */
export function readMessage({ choices }: Fields): ChatAssistantMessage | null {
  const [choice] = listOf(choices);
  const { message, finish_reason: reason } = Object(choice) as Fields;
  if (!isFields(message)) return null;
  return ChatAssistantMessage.of(message, callsIn(message).map(plainCall)).finished(reason);
}

/**
 * Calls in a message or a delta. Some servers write one without a list, or in the shape before `tool_calls`. Throws at too
 * many.
 */
export function callsIn({ tool_calls: calls, function_call: old }: Fields): Fields[] {
  const all = isFields(calls) ? [calls] : listOf(calls).filter(isFields);
  if (all.length > maxCalls) throw new Error('the answer has too many calls of tools');
  return all.length === 0 && isFields(old) ? [{ function: old }] : all;
}

/** A call in OpenAI's shape: some servers have no `function` around name and arguments, or another name for these. */
export function plainCall({ index: _index, ...call }: Fields): Fields {
  if (isFields(call['function'])) return call;
  const { name, arguments: args, parameters, input, ...others } = call;
  return { ...others, function: { name, arguments: args ?? parameters ?? input } };
}

function functionCalls(calls: readonly Fields[]): FunctionCall[] {
  const read = readCalls(
    calls.map((fields) => ({ id: idOf(fields), name: nameOf(fields), argumentsText: argumentsOf(fields) })),
  );
  return read.map((call, index) => {
    const fields = calls[index] ?? {};
    const called = Object(fields['function']) as Fields;
    const written = { ...called, name: call.name, arguments: call.argumentsJson ?? '{}' };
    return { ...call, fields: { ...fields, type: 'function', function: written } };
  });
}

/**
 * The content of a server beside a call, as JSON: Google's signature of the thought before it, which it wants back
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai). Null without one.
 */
export function extraContentOf({ extra_content: content }: Fields): string | null {
  return isFields(content) ? JSON.stringify(content) : null;
}

/** Whether the arguments of a call are complete. */
export function isWhole(call: Fields): boolean {
  const text = argumentsOf(call);
  return text.length <= smallBytes && text.trimEnd().endsWith('}') && argumentsObject(text) !== null;
}

/** Some servers number ids. */
export function idOf({ id }: Fields): string {
  return typeof id === 'number' ? String(id) : textOf(id);
}

export function nameOf(call: Fields): string {
  return textOf((Object(call['function']) as Fields)['name']).trim();
}

export function argumentsOf(call: Fields): string {
  return argumentsText((Object(call['function']) as Fields)['arguments']);
}

export function indexOf({ index }: Fields): number | null {
  const number = typeof index === 'string' && index !== '' ? Number(index) : index;
  return typeof number === 'number' && Number.isInteger(number) ? number : null;
}
