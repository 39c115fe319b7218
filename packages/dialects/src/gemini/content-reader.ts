import { functionCall } from '../translation/call-ids.ts';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { isKeepAlive, ownSignature } from './content.ts';
import { isNamed, memberIn } from './fields.ts';
import { PartCount } from './part-count.ts';
import {
  type CallPart,
  type MediaPart,
  type Part,
  type ResultPart,
  type TextPart,
  type ThinkingPart,
  type Turn,
} from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import type { DroppedFields, Members } from '../translation/dropped-fields.ts';
import { foreignFile, hostedParts } from '../translation/hosted-history.ts';
import { dataSource, mediaPart } from '../translation/media.ts';
import { usualType } from '../file-types.ts';
import { readMarked, readMarkedThoughts } from '../translation/signatures.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** `DroppedFields.members` of an object with names in either spelling. `names`: in camelCase. */
export function membersOf<Name extends string>(
  value: unknown,
  { path, names, dropped }: { path: string; names: readonly Name[]; dropped: DroppedFields },
): Members<Name> {
  if (!isFields(value)) return dropped.members(value, path, names);
  const entries = Object.entries(value).map(([name, member]) => {
    const known = names.find((each) => isNamed(name, each));
    return [known ?? name, member] as const;
  });
  return dropped.members(Object.fromEntries(entries), path, names);
}

/** A list, which may stand without its brackets if it has one element. */
export function elementsIn(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? (value as unknown[]) : [value];
}

interface UnansweredCall {
  id: string;
  isAnswered: boolean;
}

/** Gives calls without ids some, and finds the call of a result by its name and order. */
class CallOrder {
  readonly #byId = new Map<string, UnansweredCall[]>();
  readonly #byName = new Map<string, UnansweredCall[]>();
  #count = 0;

  called(id: string, name: string): string {
    this.#count += 1;
    const call = { id: id === '' ? `call_${this.#count}` : id, isAnswered: false };
    addTo(this.#byId, call.id, call);
    addTo(this.#byName, name, call);
    return call.id;
  }

  answered(id: string, name: string): string {
    const calls = id === '' ? this.#byName.get(name) : this.#byId.get(id);
    let first = calls?.shift();
    while (first?.isAnswered === true) first = calls?.shift();
    if (first === undefined) return id === '' ? `call_${name}` : id;
    first.isAnswered = true;
    return first.id;
  }
}

function addTo(calls: Map<string, UnansweredCall[]>, key: string, call: UnansweredCall): void {
  const known = calls.get(key);
  if (known === undefined) calls.set(key, [call]);
  else known.push(call);
}

/** The turns of a request's contents. Throws a 400 for a part unknown to other APIs. */
export function* readContents(fields: Fields, source: JsonSource, dropped: DroppedFields): Steps<Turn[]> {
  const calls = new CallOrder();
  const contents = source.member('contents');
  const turns: Turn[] = [];
  /** Texts of contents, without those written for parts of other kinds. */
  const pieces = new WeakSet<Part>();
  const thoughts = new PartCount();
  const list = elementsIn(fields['contents']);
  const past = list.findLastIndex((element) => (Object(element) as Fields)['role'] === 'model');
  for (const [index, element] of list.entries()) {
    dropped.isHistory = index <= past;
    const content = membersOf(element, { path: 'contents', names: ['role', 'parts'], dropped });
    const from = contents?.element(index)?.member('parts') ?? null;
    const parts: Part[] = [];
    const elements = elementsIn(content.parts);
    for (const [place, part] of elements.entries()) {
      const at = `contents[${index}].parts[${place}]`;
      const read = partsOf(part, { at, source: from?.element(place) ?? null, dropped, calls });
      thoughts.addMany(read.filter(({ kind }) => kind === 'thinking').length);
      for (const each of read) {
        if (isText(part)) pieces.add(each);
        parts.push(each);
      }
      yield;
    }
    const role = roleOf(content.role, `contents[${index}].role`, dropped);
    const last = turns.at(-1);
    if (role !== 'assistant') turns.push({ role, parts });
    else if (last?.role === role) for (const part of parts) addPart(last.parts, part, pieces);
    else if (parts.length > 0 || elements.length === 0)
      turns.push({ role, parts: withPieces(parts, pieces) });
    yield;
  }
  dropped.isHistory = false;
  return turns;
}

function withPieces(parts: readonly Part[], pieces: WeakSet<Part>): Part[] {
  const joined: Part[] = [];
  for (const part of parts) addPart(joined, part, pieces);
  return joined;
}

/**
 * Adds a part of the model. SDKs store each piece of a streamed turn as a content. Pieces of a thought have no signature:
 * it comes with the last one, or with the part behind them, which may have the text as well. Pieces of a text may be
 * white space alone.
 */
function addPart(parts: Part[], part: Part, pieces: WeakSet<Part>): void {
  const last = parts.at(-1);
  if (part.kind === 'thinking' && last?.kind === 'thinking' && last.signature === null)
    parts.splice(-1, 1, part.isWhole === true ? part : { ...part, text: last.text + part.text });
  else if (part.kind === 'text' && last?.kind === 'text' && pieces.has(last) && pieces.has(part)) {
    const joined = { ...last, text: last.text + part.text };
    pieces.add(joined);
    parts.splice(-1, 1, joined);
  } else parts.push(part);
}

/** Whether a part is a text, and no thought. */
function isText(part: unknown): boolean {
  return isFields(part) && typeof part['text'] === 'string' && part['thought'] !== true;
}

/** Google's older API has a role for results. */
function roleOf(role: unknown, at: string, dropped: DroppedFields): Turn['role'] {
  if (role === 'model') return 'assistant';
  if (role === undefined || role === null || role === '' || role === 'user' || role === 'function')
    return 'user';
  throw dropped.unsupportedParameter(at);
}

/** The parts of a system instruction, which may be a text. */
export function readSystem(instruction: unknown, dropped: DroppedFields): (TextPart | MediaPart)[] {
  if (instruction === undefined) return [];
  if (typeof instruction === 'string') return [{ kind: 'text', text: instruction }];
  const path = 'systemInstruction';
  const { parts } = membersOf(instruction, { path, names: ['parts', 'role'], dropped });
  return elementsIn(parts).flatMap((part, index) => {
    const members = membersOf(part, { path: '', names: partNames, dropped });
    const at = `${path}.parts[${index}]`;
    return typeof members.text === 'string'
      ? [{ kind: 'text', text: members.text }]
      : mediaOf(members, at, dropped);
  });
}

interface PartsPosition {
  at: string;
  source: JsonSource | null;
  dropped: DroppedFields;
  calls: CallOrder;
}

/** Translated members of a part. */
const partNames = [
  ...(['text', 'thought', 'thoughtSignature', 'functionCall', 'functionResponse'] as const),
  ...(['inlineData', 'fileData'] as const),
];

type GivenPart = Members<(typeof partNames)[number]>;

/** Parts by which a model uses tools of its provider. */
const hosted = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'];

function partsOf(list: unknown, { at, source, dropped, calls }: PartsPosition): Part[] {
  for (const [name, value] of Object.entries(Object(list) as Fields)) {
    const type = hosted.find((each) => isNamed(name, each));
    if (type !== undefined) return hostedParts(value, { type, name: `contents.parts.${name}` }, dropped);
  }
  const part = membersOf(list, { path: '', names: partNames, dropped });
  if (isKeepAlive(Object(list) as Fields)) return [];
  const before: Part[] = thoughtsOf(part);
  const { text, functionCall: call, functionResponse: result } = part;
  if (part.thought === true) return before;
  if (call !== undefined)
    return [...before, callOf(call, memberIn(source, 'functionCall'), { calls, dropped })];
  if (result !== undefined)
    return [resultOf(result, memberIn(source, 'functionResponse'), { at, dropped, calls })];
  if (typeof text === 'string') return text === '' ? before : [...before, { kind: 'text', text }];
  if (dropped.isHistory && part.inlineData === undefined && part.fileData === undefined) return before;
  return [...before, ...mediaOf(part, at, dropped)];
}

/** The thoughts of a part's signature; Google's own has no mark. A signature without their texts has the part's. */
function thoughtsOf(part: GivenPart): ThinkingPart[] {
  const signed = ownSignature(part);
  const whole = signed === null ? null : readMarkedThoughts(signed.text);
  if (whole !== null) return whole.map((thought) => ({ kind: 'thinking', ...thought, isWhole: true }));
  const text = part.thought === true ? textOf(part.text) : '';
  if (signed === null) return part.thought === true ? [{ kind: 'thinking', text, signature: null }] : [];
  return [{ kind: 'thinking', text, signature: readMarked(signed.text) ?? signed }];
}

function callOf(
  call: unknown,
  source: JsonSource | null,
  { calls, dropped }: Pick<PartsPosition, 'dropped' | 'calls'>,
): CallPart {
  const names = ['id', 'name', 'args'] as const;
  const { id, name } = membersOf(call, { path: 'functionCall', names, dropped });
  const named = textOf(name);
  return functionCall(calls.called(textOf(id), named), named, source?.textOf('args') ?? '{}');
}

function resultOf(
  result: unknown,
  source: JsonSource | null,
  { at, dropped, calls }: Pick<PartsPosition, 'at' | 'dropped' | 'calls'>,
): ResultPart {
  const names = ['id', 'name', 'response', 'parts'] as const;
  const { id, name, response, parts } = membersOf(result, { path: 'functionResponse', names, dropped });
  const { output, error, ...others } = isFields(response) ? response : {};
  const isError = error !== undefined;
  const outputText = output ?? error;
  const isPlain = typeof outputText === 'string' && Object.keys(others).length === 0;
  const text = isPlain ? outputText : (source?.textOf('response') ?? '{}');
  const media = elementsIn(parts).flatMap((part, place) => {
    const members = membersOf(part, { path: '', names: ['inlineData', 'fileData'], dropped });
    return mediaOf(members, `${at}.parts[${place}]`, dropped);
  });
  return {
    ...{ kind: 'result', callId: calls.answered(textOf(id), textOf(name)), isError },
    parts: [...(text === '' ? [] : [{ kind: 'text', text } as const]), ...media],
  };
}

function mediaOf(
  part: Pick<GivenPart, 'inlineData' | 'fileData'>,
  at: string,
  dropped: DroppedFields,
): (TextPart | MediaPart)[] {
  const inNames = ['data', 'mimeType', 'displayName'] as const;
  const inline = membersOf(part.inlineData ?? {}, { path: 'inlineData', names: inNames, dropped });
  const fileNames = ['fileUri', 'mimeType', 'displayName'] as const;
  const file = membersOf(part.fileData ?? {}, { path: 'fileData', names: fileNames, dropped });
  const { data } = inline;
  const mediaType = (textIn(inline.mimeType) ?? textOf(file.mimeType)).toLowerCase();
  const uri = textOf(file.fileUri);
  const kind = mediaType.startsWith('image/') ? 'image' : mediaType.startsWith('audio/') ? 'audio' : 'file';
  const name = textIn(inline.displayName) ?? textIn(file.displayName);
  if (typeof data === 'string')
    return [mediaPart({ source: dataSource(data, mediaType, name), name, at }, kind)];
  if (!/^https?:/.test(uri) || /googleapis\.com\//.test(uri)) return foreignFile(at, uri, dropped);
  const source = { url: uri, ...(mediaType !== '' && { mediaType: usualType(mediaType) }) };
  return [{ kind, source, name, at }];
}
