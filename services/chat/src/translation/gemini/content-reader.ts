import { isFields, type Fields } from '@gatehouse/kit/fields';
import { isSealed } from '../../dialects/gemini/content.ts';
import { objectIn, objectsIn, textOf, valueOf } from '../../dialects/gemini/fields.ts';
import type { CallPart, MediaPart, Part, ResultPart, Seal, TextPart, Turn } from '../conversation.ts';
import { textIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { LeftOut } from '../left-out.ts';
import { readMarked } from '../seals.ts';

/** A member in either spelling. */
export function memberOf(source: JsonSource | null, name: string): JsonSource | null {
  return source?.member(name) ?? source?.member(snakeOf(name)) ?? null;
}

function snakeOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Gives calls without ids some, and finds the call of a result by its name and order. */
class CallOrder {
  readonly #open: { id: string; name: string }[] = [];
  #count = 0;

  called(id: string, name: string): string {
    this.#count += 1;
    const own = id === '' ? `call_${this.#count}` : id;
    this.#open.push({ id: own, name });
    return own;
  }

  answered(id: string, name: string): string {
    const index = this.#open.findIndex((call) => (id === '' ? call.name === name : call.id === id));
    const [found] = index < 0 ? [] : this.#open.splice(index, 1);
    return found?.id ?? (id === '' ? `call_${name}` : id);
  }
}

/** The turns of a request's contents. Throws a 400 for a part that other APIs don't have. */
export function readContents(fields: Fields, source: JsonSource, left: LeftOut): Turn[] {
  const calls = new CallOrder();
  const contents = source.member('contents');
  return objectsIn(fields, 'contents').map((content, index): Turn => {
    const parts = contents?.element(index)?.member('parts') ?? null;
    const read = objectsIn(content, 'parts').flatMap((part, place) =>
      partsOf(part, {
        at: `contents[${index}].parts[${place}]`,
        source: parts?.element(place) ?? null,
        left,
        calls,
      }),
    );
    return { role: content['role'] === 'model' ? 'assistant' : 'user', parts: read };
  });
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
