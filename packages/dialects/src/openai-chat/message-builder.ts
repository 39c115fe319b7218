import { maxCalls } from '../bounds.ts';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { messageText } from './message-text.ts';
import {
  argumentsOf,
  callsIn,
  idOf,
  indexOf,
  isWhole,
  nameOf,
  plainCall,
  ChatAssistantMessage,
} from './tool-calls.ts';
import { charsEach, maxBuiltChars } from '../bounds.ts';

function piecesIn(delta: Fields): number {
  return Object.values(delta).reduce<number>(
    (sum, value) => sum + (Array.isArray(value) ? value.length : 0),
    1,
  );
}

/** A call put together of pieces. */
interface OpenCall {
  /** As the provider numbers it; null where it does not. */
  index: number | null;
  fields: Fields;
}

/**
 * Puts the message of a streamed choice together. Providers number pieces of calls by `index`, but some number all
 * calls 0, and some don't number them: another id is another call, and a piece without both goes on with the last call.
 */
export class MessageBuilder {
  readonly #message: Fields = {};
  readonly #calls: OpenCall[] = [];
  #chars = 0;

  /** Returns the calls in the delta, each with its place among all calls. Throws at more than an answer may have. */
  add(delta: Fields): { place: number; call: Fields }[] {
    const { tool_calls: _calls, function_call: _old, ...others } = delta;
    this.#chars += messageText(delta).length + charsEach * piecesIn(delta);
    if (this.#chars > maxBuiltChars) throw new Error('the answer is too large to be put together');
    merge(this.#message, others);
    const pieces = callsIn(delta);
    return pieces.map((piece, at) => {
      const call = plainCall(piece);
      const place = this.#placeOf(call, indexOf(piece), at > 0);
      const known = this.#calls[place] ?? { index: indexOf(piece), fields: {} };
      this.#calls[place] = known;
      if (place >= maxCalls) throw new Error('the answer has too many calls of tools');
      mergeCall(known.fields, call);
      return { place, call };
    });
  }

  /** The name of a call as far as it is known. */
  nameOf(place: number): string {
    return nameOf(this.#calls[place]?.fields ?? {});
  }

  /** The id of a call as far as it is known. */
  idOf(place: number): string {
    return idOf(this.#calls[place]?.fields ?? {});
  }

  get built(): ChatAssistantMessage {
    const message = { role: 'assistant', content: null, ...this.#message };
    const isNumbered = this.#calls.every(({ index }) => index !== null);
    // As the provider numbers them, which need not be as they came.
    const calls = isNumbered
      ? this.#calls.toSorted((a, b) => Number(a.index) - Number(b.index))
      : this.#calls;
    return ChatAssistantMessage.of(
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

/**
 * Pieces of arguments are texts; a value of another kind is the whole. A repeated call, whole and with its name, adds
 * nothing.
 */
function mergeCall(into: Fields, piece: Fields): void {
  if (nameOf(piece) !== '' && isWhole(piece) && argumentsOf(into) === argumentsOf(piece)) return;
  merge(into, piece);
  const called = into['function'];
  const { arguments: value } = Object(piece['function']) as Fields;
  if (isFields(called) && typeof value === 'object' && value !== null) called['arguments'] = value;
}

/** Texts and lists in pieces. All else comes once, or again unchanged. */
const inPieces = new Set([
  ...['content', 'refusal', 'reasoning', 'reasoning_content', 'arguments', 'thinking'],
  ...['reasoning_details', 'thinking_blocks', 'transcript', 'data', 'images', 'annotations'],
]);

function merge(into: Fields, delta: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    // It would reach the prototype of all objects.
    if (name === '__proto__') continue;
    const known = Object.hasOwn(into, name) ? into[name] : undefined;
    if (isFields(known) && isFields(value)) merge(known, value);
    else if (inPieces.has(name) && typeof known === 'string' && typeof value === 'string')
      into[name] = known + value;
    else if (inPieces.has(name) && Array.isArray(known) && Array.isArray(value))
      into[name] = value.reduce(withPart, known);
    else if (value !== null && value !== '') into[name] = copyOf(value);
    else into[name] ??= value;
  }
}

/** Pieces are merged into what they began: not into what is passed on. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...(value as unknown[])];
  if (!isFields(value)) return value;
  const copy: Fields = {};
  merge(copy, value);
  return copy;
}

/** A list of parts with one more. Its text goes on with the last one's where both are of one kind. */
function withPart(parts: unknown[], part: unknown): unknown[] {
  const last = parts.at(-1);
  if (isFields(last) && isFields(part) && last['type'] === part['type'] && last['index'] === part['index'])
    for (const name of ['text', 'thinking']) {
      const [before, more] = [last[name], part[name]];
      if (typeof before === 'string' && typeof more === 'string') {
        parts[parts.length - 1] = { ...last, [name]: before + more };
        return parts;
      }
      if (Array.isArray(before) && Array.isArray(more)) {
        parts[parts.length - 1] = { ...last, [name]: more.reduce(withPart, [...(before as unknown[])]) };
        return parts;
      }
    }
  parts.push(part);
  return parts;
}
