import { isFields, type Fields } from '@gatehouse/kit/fields';
import { isSealed } from '../../dialects/gemini/content.ts';
import { objectIn, objectsIn, textOf, valueOf } from '../../dialects/gemini/fields.ts';
import type { CallPart, MediaPart, Part, ResultPart, Seal, TextPart, Turn } from '../conversation.ts';
import { textIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { LeftOut } from '../left-out.ts';
import { readMarked } from '../seals.ts';
import type { Steps } from '../steps.ts';

/** A member in either spelling. */
export function memberOf(source: JsonSource | null, name: string): JsonSource | null {
  return source?.member(name) ?? source?.member(snakeOf(name)) ?? null;
}

function snakeOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

interface OpenCall {
  id: string;
  isAnswered: boolean;
}

/** Calls that wait for a result, in their order. */
class WaitingCalls {
  readonly #calls: OpenCall[] = [];
  #first = 0;

  add(call: OpenCall): void {
    this.#calls.push(call);
  }

  /** The first one, which waits no longer. */
  take(): OpenCall | null {
    for (; this.#first < this.#calls.length; this.#first += 1) {
      const call = this.#calls[this.#first];
      if (call?.isAnswered !== false) continue;
      call.isAnswered = true;
      return call;
    }
    return null;
  }
}

/** Gives calls without ids some, and finds the call of a result by its name and order. */
class CallOrder {
  readonly #byId = new Map<string, WaitingCalls>();
  readonly #byName = new Map<string, WaitingCalls>();
  #count = 0;

  called(id: string, name: string): string {
    this.#count += 1;
    const call = { id: id === '' ? `call_${this.#count}` : id, isAnswered: false };
    waiting(this.#byId, call.id).add(call);
    waiting(this.#byName, name).add(call);
    return call.id;
  }

  answered(id: string, name: string): string {
    const found = id === '' ? this.#byName.get(name) : this.#byId.get(id);
    return found?.take()?.id ?? (id === '' ? `call_${name}` : id);
  }
}

function waiting(calls: Map<string, WaitingCalls>, key: string): WaitingCalls {
  const known = calls.get(key);
  if (known !== undefined) return known;
  const added = new WaitingCalls();
  calls.set(key, added);
  return added;
}

/** The turns of a request's contents. Throws a 400 for a part that other APIs don't have. */
export function* readContents(fields: Fields, source: JsonSource, left: LeftOut): Steps<Turn[]> {
  const calls = new CallOrder();
  const contents = source.member('contents');
  const turns: Turn[] = [];
  for (const [index, content] of objectsIn(fields, 'contents').entries()) {
    const from = contents?.element(index)?.member('parts') ?? null;
    const parts: Part[] = [];
    for (const [place, part] of objectsIn(content, 'parts').entries()) {
      const at = `contents[${index}].parts[${place}]`;
      parts.push(...partsOf(part, { at, source: from?.element(place) ?? null, left, calls }));
      yield;
    }
    turns.push({ role: roleOf(content['role'], `contents[${index}].role`, left), parts });
    yield;
  }
  return turns;
}

/** Google's older API has a role for results. */
function roleOf(role: unknown, at: string, left: LeftOut): Turn['role'] {
  if (role === 'model') return 'assistant';
  if (role === undefined || role === null || role === '' || role === 'user' || role === 'function')
    return 'user';
  throw left.refused(at);
}

/** The parts of a system instruction, which may be a text. */
export function readSystem(instruction: unknown, left: LeftOut): (TextPart | MediaPart)[] {
  if (typeof instruction === 'string') return [{ kind: 'text', text: instruction }];
  return objectsIn(isFields(instruction) ? instruction : {}, 'parts').map((part, index) =>
    typeof part['text'] === 'string'
      ? { kind: 'text', text: part['text'] }
      : mediaOf(part, `systemInstruction.parts[${index}]`, left),
  );
}

interface Place {
  at: string;
  source: JsonSource | null;
  left: LeftOut;
  calls: CallOrder;
}

function partsOf(part: Fields, { at, source, left, calls }: Place): Part[] {
  const seal = sealOf(part);
  const { text } = part;
  const call = valueOf(part, 'functionCall');
  const result = valueOf(part, 'functionResponse');
  if (part['thought'] === true) return [{ kind: 'thinking', text: textOf(text), seal }];
  const before: Part[] = seal === null ? [] : [{ kind: 'thinking', text: '', seal }];
  if (isFields(call)) return [...before, callOf(call, memberOf(source, 'functionCall'), calls)];
  if (isFields(result)) return [resultOf(result, memberOf(source, 'functionResponse'), { at, left, calls })];
  if (typeof text === 'string') return text === '' ? before : [...before, { kind: 'text', text }];
  return [...before, mediaOf(part, at, left)];
}

/** A signature in a part; Google's own has no mark. */
export function sealOf(part: Fields): Seal | null {
  const text = textOf(valueOf(part, 'thoughtSignature'));
  if (!isSealed(part)) return null;
  return readMarked(text) ?? { maker: 'google', text, isRedacted: false };
}

function callOf({ id, name }: Fields, source: JsonSource | null, calls: CallOrder): CallPart {
  const named = textOf(name);
  return {
    ...{ kind: 'call', id: calls.called(textOf(id), named), name: named },
    ...{ argumentsText: source?.textOf('args') ?? '{}', isFreeform: false, namespace: null },
  };
}

function resultOf(
  result: Fields,
  source: JsonSource | null,
  { at, left, calls }: Pick<Place, 'at' | 'left' | 'calls'>,
): ResultPart {
  const { id, name, response } = result;
  const { output, error, ...others } = isFields(response) ? response : {};
  const isError = error !== undefined;
  const said = output ?? error;
  const isPlain = typeof said === 'string' && Object.keys(others).length === 0;
  const text = isPlain ? said : (source?.textOf('response') ?? '{}');
  const media = objectsIn(result, 'parts').map((part, place) => mediaOf(part, `${at}.parts[${place}]`, left));
  return {
    ...{ kind: 'result', callId: calls.answered(textOf(id), textOf(name)), isError },
    parts: [...(text === '' ? [] : [{ kind: 'text', text } as const]), ...media],
  };
}

function mediaOf(part: Fields, at: string, left: LeftOut): MediaPart {
  const inline = objectIn(part, 'inlineData');
  const file = objectIn(part, 'fileData');
  const { data } = inline;
  const mediaType = textIn(valueOf(inline, 'mimeType')) ?? textOf(valueOf(file, 'mimeType'));
  const uri = textOf(valueOf(file, 'fileUri'));
  const kind = mediaType.startsWith('image/') ? 'image' : mediaType.startsWith('audio/') ? 'audio' : 'file';
  const name = textIn(valueOf(inline, 'displayName'));
  if (typeof data === 'string') return { kind, source: { data, mediaType }, name, at };
  if (!/^https?:/.test(uri) || /googleapis\.com\//.test(uri))
    throw left.refused(at, 'Other models take texts, data and addresses of files only.');
  return { kind, source: { url: uri }, name, at };
}
