import { frameData } from './sse-frames.ts';

type Fields = Record<string, unknown>;

/** A call that a model asks for. */
export interface ToolCall {
  id: string;
  name: string;
  /** The text that the model wrote; JSON if it is right. */
  argumentsText: string;
  /** The call as the model gave it, for the next request. */
  fields: Fields;
}

/** The message of a whole answer's first choice, and the calls in it; null if there is no such message. */
export function readMessage({ choices }: Fields): { message: Fields; calls: ToolCall[] } | null {
  const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const { message } = Object(choice) as { message?: unknown };
  if (!isFields(message)) return null;
  const { tool_calls: calls } = message;
  return { message, calls: Array.isArray(calls) ? calls.filter(isFields).map(readCall) : [] };
}

function readCall(fields: Fields): ToolCall {
  const { name, arguments: text } = Object(fields['function']) as Fields;
  return {
    id: textOf(fields['id']),
    name: textOf(name),
    argumentsText: textOf(text),
    fields,
  };
}

/** Puts the message of a streamed choice together. */
export class MessageBuilder {
  readonly #message: Fields = {};
  readonly #calls = new Map<number, Fields>();

  /** Returns the calls in the delta, each with its index. Some providers name none: each piece is a whole call then. */
  add({ tool_calls: calls, ...delta }: Fields): { index: number; call: Fields }[] {
    merge(this.#message, delta);
    return (Array.isArray(calls) ? calls.filter(isFields) : []).map((call) => {
      const { index, ...fields } = call;
      const at = typeof index === 'number' ? index : this.#calls.size;
      const known = this.#calls.get(at) ?? {};
      this.#calls.set(at, known);
      merge(known, fields);
      return { index: at, call };
    });
  }

  /** The name of a call as far as it is known. */
  nameOf(index: number): string {
    const { name } = Object(this.#calls.get(index)?.['function']) as Fields;
    return textOf(name);
  }

  get built(): { message: Fields; calls: ToolCall[] } {
    const calls = [...this.#calls].toSorted(([a], [b]) => a - b).map(([, fields]) => fields);
    const message = { role: 'assistant', content: null, ...this.#message };
    return {
      message: calls.length === 0 ? message : { ...message, tool_calls: calls },
      calls: calls.map(readCall),
    };
  }
}

/** Texts that come in pieces. All else comes once, or again unchanged. */
const inPieces = new Set(['content', 'refusal', 'reasoning', 'reasoning_content', 'arguments']);

function merge(into: Fields, delta: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    // It would reach the prototype of all objects.
    if (name === '__proto__') continue;
    const known = Object.hasOwn(into, name) ? into[name] : undefined;
    if (isFields(known) && isFields(value)) merge(known, value);
    else if (inPieces.has(name) && typeof known === 'string' && typeof value === 'string')
      into[name] = known + value;
    else if (value !== null && value !== '') into[name] = value;
    else into[name] ??= value;
  }
}

/** The chunk in a frame; null for a comment. */
export function chunkOf(frame: Buffer): Fields | null {
  const data = frameData(frame);
  if (data === null || data === '') return null;
  const chunk: unknown = JSON.parse(data);
  return isFields(chunk) ? chunk : null;
}

export function frameOf(chunk: Fields): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

/** Adds the numbers of usage objects, member by member. */
export function addedUsage(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  if (!isFields(one) || !isFields(other)) return one ?? other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, addedUsage(one[name], other[name])]));
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
