import { newId } from '@gatehouse/kit/ids';
import { frameData } from './sse-frames.ts';

type Fields = Record<string, unknown>;

/** A call that a model asks for. */
export interface ToolCall {
  id: string;
  name: string;
  /** The text that the model wrote; JSON if it is right. An object or another value is written as JSON. */
  argumentsText: string;
  /** The call in OpenAI's shape, for the next request. Servers refuse arguments there that are no JSON object. */
  fields: Fields;
}

/** What a model said: its message without the calls, and these. */
export interface Said {
  message: Fields;
  calls: ToolCall[];
}

/** The message of a whole answer's first choice, and the calls in it; null if there is no such message. */
export function readMessage({ choices }: Fields): Said | null {
  const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const { message } = Object(choice) as { message?: unknown };
  return isFields(message) ? withCalls(message, callsIn(message).map(plainCall)) : null;
}

/** Calls in a message or a delta. Some servers write one without a list, or in the shape before `tool_calls`. */
function callsIn({ tool_calls: calls, function_call: old }: Fields): Fields[] {
  const all = Array.isArray(calls) ? calls.filter(isFields) : isFields(calls) ? [calls] : [];
  return all.length === 0 && isFields(old) ? [{ function: old }] : all;
}

/** A call in OpenAI's shape: some servers have no `function` around name and arguments, or another name for these. */
function plainCall({ index: _index, ...call }: Fields): Fields {
  if (isFields(call['function'])) return call;
  const { name, arguments: given, parameters, input, ...others } = call;
  return { ...others, function: { name, arguments: given ?? parameters ?? input } };
}

function withCalls(message: Fields, calls: readonly Fields[]): Said {
  const { tool_calls: _calls, function_call: _old, ...others } = message;
  const read = calls.map((fields) => {
    const { name, arguments: given, ...more } = Object(fields['function']) as Fields;
    const argumentsText = writtenArguments(given);
    const called = { ...more, name: textOf(name).trim(), arguments: argumentsObject(argumentsText) ?? '{}' };
    return {
      ...{ id: idOf(fields), name: called.name, argumentsText },
      fields: { ...fields, type: 'function', function: called },
    };
  });
  return { message: others, calls: read };
}

/** The message of the model for the next request. Each call gets an id that no other call of the run has. */
export function identified({ message, calls }: Said, used: Set<string>): Said {
  if (calls.length === 0) return { message, calls };
  const named = calls.map((call) => {
    const id = call.id === '' || used.has(call.id) ? `call_${newId().replaceAll('-', '')}` : call.id;
    used.add(id);
    return { ...call, id, fields: { ...call.fields, id } };
  });
  return { message: { ...message, tool_calls: named.map(({ fields }) => fields) }, calls: named };
}

function writtenArguments(given: unknown): string {
  if (given === undefined || given === null) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/**
 * The object that a call's arguments are, as JSON; null if they are none. No arguments are an empty object. Some models
 * write the JSON of an object as a JSON text.
 */
export function argumentsObject(text: string): string | null {
  if (text.trim() === '') return '{}';
  const value = parsed(text);
  if (isFields(value)) return text;
  return typeof value === 'string' && isFields(parsed(value)) ? value : null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A call that is put together of pieces. */
interface OpenCall {
  /** As the provider numbers it; null where it does not. */
  index: number | null;
  fields: Fields;
}

/**
 * Puts the message of a streamed choice together. Providers number pieces of calls by `index`, but some number all calls
 * 0, and some none: another id is another call, and a piece without both goes on with the last call.
 */
export class MessageBuilder {
  readonly #message: Fields = {};
  readonly #calls: OpenCall[] = [];

  /** Returns the calls in the delta, each with its place among all calls. */
  add(delta: Fields): { place: number; call: Fields }[] {
    const { tool_calls: _calls, function_call: _old, ...others } = delta;
    merge(this.#message, others);
    const pieces = callsIn(delta);
    return pieces.map((piece, at) => {
      const call = plainCall(piece);
      const place = this.#placeOf(call, indexOf(piece), at > 0);
      const known = this.#calls[place] ?? { index: indexOf(piece), fields: {} };
      this.#calls[place] = known;
      mergeCall(known.fields, call);
      return { place, call };
    });
  }

  /** The name of a call as far as it is known. */
  nameOf(place: number): string {
    return nameOf(this.#calls[place]?.fields ?? {}).trim();
  }

  get built(): Said {
    const message = { role: 'assistant', content: null, ...this.#message };
    const isNumbered = this.#calls.every(({ index }) => index !== null);
    // As the provider numbers them, which need not be as they came.
    const calls = isNumbered
      ? this.#calls.toSorted((a, b) => Number(a.index) - Number(b.index))
      : this.#calls;
    return withCalls(
      message,
      calls.map(({ fields }) => fields),
    );
  }

  /** `follows`: whether the piece comes after another one in the same delta. */
  #placeOf(piece: Fields, index: number | null, follows: boolean): number {
    const next = this.#calls.length;
    const place =
      index === null
        ? (this.#withId(idOf(piece)) ?? next - 1)
        : this.#calls.findLastIndex((call) => call.index === index);
    const known = this.#calls[place]?.fields;
    if (known === undefined) return next;
    return this.#goesOn(known, piece, index === null && follows) ? place : next;
  }

  #withId(id: string): number | undefined {
    const place = id === '' ? -1 : this.#calls.findLastIndex(({ fields }) => idOf(fields) === id);
    return place < 0 ? undefined : place;
  }

  /**
   * Whether a piece belongs to a call. Names come whole: another one, or the same after whole arguments, is another call.
   * Only pieces with a name or a new id are looked at closely, since most have neither.
   */
  #goesOn(known: Fields, piece: Fields, isApart: boolean): boolean {
    const [id, name] = [idOf(piece), nameOf(piece)];
    const hasIds = id !== '' && idOf(known) !== '';
    if (hasIds && id !== idOf(known)) return name === '' && !isWhole(known);
    if (name === '' || nameOf(known) === '') return true;
    if (name !== nameOf(known) || (isApart && !hasIds)) return false;
    return !isWhole(known) || !isWhole(piece) || (hasIds && argumentsOf(known) === argumentsOf(piece));
  }
}

/** Whether the arguments of a call are complete. */
function isWhole(call: Fields): boolean {
  const text = argumentsOf(call);
  return text.trimEnd().endsWith('}') && isFields(parsed(text));
}

/** Some servers number ids. */
function idOf({ id }: Fields): string {
  return typeof id === 'number' ? String(id) : textOf(id);
}

function nameOf(call: Fields): string {
  return textOf((Object(call['function']) as Fields)['name']);
}

function argumentsOf(call: Fields): string {
  return writtenArguments((Object(call['function']) as Fields)['arguments']);
}

function indexOf({ index }: Fields): number | null {
  const number = typeof index === 'string' && index !== '' ? Number(index) : index;
  return typeof number === 'number' && Number.isInteger(number) ? number : null;
}

/**
 * Pieces of arguments are texts; a value of another kind is the whole. A call that comes again, whole and with its name,
 * adds nothing.
 */
function mergeCall(into: Fields, piece: Fields): void {
  if (nameOf(piece) !== '' && isWhole(piece) && argumentsOf(into) === argumentsOf(piece)) return;
  merge(into, piece);
  const called = into['function'];
  const { arguments: given } = Object(piece['function']) as Fields;
  if (isFields(called) && typeof given === 'object' && given !== null) called['arguments'] = given;
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
