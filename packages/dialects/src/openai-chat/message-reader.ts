import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { plainCall } from './tool-calls.ts';
import type {
  CallPart,
  MediaPart,
  Part,
  ResultPart,
  TextPart,
  ThinkingPart,
  Turn,
} from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { pointIn, withCachePoint } from '../translation/cache-points.ts';
import { foreignFile, hostedParts } from '../translation/hosted-history.ts';
import { fileSource, mediaPart, sourceOf } from '../translation/media.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** Translated members of messages, by their roles. */
const translated = {
  system: ['role', 'content'],
  developer: ['role', 'content'],
  user: ['role', 'content'],
  assistant: [
    ...(['role', 'content', 'refusal', 'tool_calls', 'function_call', 'reasoning_content'] as const),
    ...(['audio', 'annotations', 'reasoning'] as const),
  ],
  tool: ['role', 'content', 'tool_call_id'],
  function: ['role', 'content', 'tool_call_id', 'name'],
} as const;

/** The turns of a list of messages. Throws a 400 for a part unknown to other APIs. */
export function* readTurns(messages: unknown, dropped: DroppedFields): Steps<Turn[]> {
  /** Ids of the calls before, by name: the old form of a result has the name alone. */
  const ids = new Map<string, string>();
  const turns: Turn[] = [];
  const list = listOf(messages);
  const past = list.findLastIndex((message) => (Object(message) as Fields)['role'] === 'assistant');
  for (const [index, message] of list.entries()) {
    dropped.isHistory = index <= past;
    turns.push(turnOf(message, index, { dropped, ids }));
    yield;
  }
  dropped.isHistory = false;
  return turns;
}

function turnOf(
  message: unknown,
  index: number,
  { dropped, ids }: { dropped: DroppedFields; ids: Map<string, string> },
): Turn {
  const at = `messages[${index}]`;
  const role = textOf((Object(message) as Fields)['role']);
  if (!isRole(role)) throw dropped.unsupportedParameter(`${at}.role`);
  const fields = dropped.members<string>(message, 'messages', translated[role]);
  const parts = withCachePoint(messageParts(role, fields, { at, dropped, ids, index }), message);
  if (role === 'assistant') return { role, parts };
  return { role: role === 'system' || role === 'developer' ? 'system' : 'user', parts };
}

/** A message in its request. `ids`: of the calls before it, by the names of their functions. */
interface MessagePlace {
  at: string;
  dropped: DroppedFields;
  ids: Map<string, string>;
  index: number;
}

function messageParts(
  role: keyof typeof translated,
  fields: Fields,
  { at, dropped, ids, index }: MessagePlace,
): Part[] {
  switch (role) {
    case 'assistant':
      return assistantParts(fields, { at, dropped, ids, index });
    case 'tool':
    case 'function':
      return [resultOf(fields, { at, dropped, ids })];
    case 'system':
    case 'developer':
    case 'user':
      return contentOf(fields['content'], `${at}.content`, dropped);
  }
}

function isRole(role: string): role is keyof typeof translated {
  return Object.hasOwn(translated, role);
}

function resultOf(
  { tool_call_id: id, name, content }: Fields,
  { at, dropped, ids }: { at: string; dropped: DroppedFields; ids: ReadonlyMap<string, string> },
): ResultPart {
  const callId = textIn(id) ?? ids.get(textOf(name)) ?? '';
  const parts = contentOf(content, `${at}.content`, dropped);
  return { kind: 'result', callId, parts, isError: false, ...pointIn(parts) };
}

function assistantParts(message: Fields, { at, dropped, ids, index }: MessagePlace): Part[] {
  const { content, refusal, audio, tool_calls: current, function_call: old } = message;
  const list = isFields(old) && listOf(current).length === 0 ? [{ function: old }] : listOf(current);
  const named = list.filter((call) => !isHosted(call));
  for (const call of named) noteCall(call, dropped);
  const calls = named.filter(isFields).map((call, place) => callOf(call, `call_${index}_${place}`));
  for (const { id, name } of calls) ids.set(name, id);
  const refused = textOf(refusal);
  return [
    ...thoughtsOf(message),
    ...textParts(content, `${at}.content`, dropped),
    ...(isFields(audio) ? hostedParts(audio, { type: 'audio', name: 'messages.audio' }, dropped) : []),
    ...list.filter(isHosted).flatMap((call) => hostedCall(call, dropped)),
    ...(refused === '' ? [] : [{ kind: 'refusal', text: refused } as const]),
    ...calls,
  ];
}

/** Whether the server itself has run a call: it is of another type than those of clients. */
function isHosted(call: unknown): call is Fields {
  return (
    isFields(call) &&
    typeof call['type'] === 'string' &&
    !clientCalls.has(call['type']) &&
    !isFields(call['function'])
  );
}

const clientCalls: ReadonlySet<string> = new Set(['function', 'custom']);

function hostedCall(call: Fields, dropped: DroppedFields): TextPart[] {
  const type = textOf(call['type']);
  return hostedParts(call, { type, name: `messages.tool_calls.${type}` }, dropped);
}

/** Notes the foreign members of a call. Some clients write its function without an object around. */
function noteCall(call: unknown, dropped: DroppedFields): void {
  const path = 'messages.tool_calls';
  const inCall = ['id', 'type', 'index', 'function', 'custom', 'name', 'arguments', 'input'] as const;
  const { function: called, custom } = dropped.members(call, path, [...inCall, 'parameters']);
  if (isFields(called)) dropped.members(called, `${path}.function`, ['name', 'arguments']);
  if (isFields(custom)) dropped.members(custom, `${path}.custom`, ['name', 'input']);
}

/** `otherwise`: the id of a call without one. */
export function callOf(call: Fields, otherwise: string): CallPart {
  const { id, custom, function: called } = plainCall(call);
  const isFreeform = isFields(custom);
  const { name, arguments: text, input } = Object(isFreeform ? custom : called) as Fields;
  const written = (isFreeform ? input : text) ?? '';
  return {
    kind: 'call',
    id: typeof id === 'string' && id !== '' ? id : otherwise,
    name: textOf(name),
    argumentsText: typeof written === 'string' ? written : JSON.stringify(written),
    isFreeform,
    namespace: null,
  };
}

/** The thought of a message, which has no signature here. */
export function thoughtsOf(message: Fields): ThinkingPart[] {
  const text = textIn(message['reasoning_content']) ?? textOf(message['reasoning']);
  return text === '' ? [] : [{ kind: 'thinking', text, signature: null }];
}

/** Contents of the model may have refusals and thoughts among their parts. */
function textParts(content: unknown, at: string, dropped: DroppedFields): Part[] {
  if (!Array.isArray(content)) return contentOf(content, at, dropped);
  return (content as unknown[]).flatMap((part, index): Part[] => {
    const { type } = Object(part) as Fields;
    if (type === 'refusal') {
      const { refusal } = dropped.members(part, '', ['type', 'refusal']);
      return [{ kind: 'refusal', text: textOf(refusal) }];
    }
    if (type !== 'thinking') return withCachePoint(partOf(part, `${at}[${index}]`, dropped), part);
    dropped.ignore('thinking');
    return [];
  });
}

function contentOf(content: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  if (isFields(content)) throw dropped.unsupportedParameter(at, 'It takes a text or a list.');
  return listOf(content).flatMap((part, index) =>
    withCachePoint(partOf(part, `${at}[${index}]`, dropped), part),
  );
}

function partOf(part: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  if (typeof part === 'string') return [{ kind: 'text', text: part }];
  switch ((Object(part) as Fields)['type']) {
    case 'text': {
      const { text } = dropped.members(part, '', ['type', 'text']);
      return [{ kind: 'text', text: textOf(text) }];
    }
    case 'image_url': {
      const { image_url: image } = dropped.members(part, '', ['type', 'image_url']);
      const { url, detail } = isFields(image)
        ? dropped.members(image, '', ['url', 'detail'])
        : { url: image };
      if (typeof url !== 'string') throw dropped.unsupportedParameter(`${at}.image_url.url`);
      if (detail !== undefined && detail !== 'auto') dropped.ignore('detail');
      return [mediaPart({ source: sourceOf(url), name: null, at }, 'image')];
    }
    case 'input_audio': {
      const { input_audio: audio } = dropped.members(part, '', ['type', 'input_audio']);
      const { data, format } = dropped.members(audio, 'input_audio', ['data', 'format']);
      if (typeof data !== 'string') throw dropped.unsupportedParameter(`${at}.input_audio.data`);
      const source = { data, mediaType: `audio/${textIn(format) ?? 'wav'}` };
      return [{ kind: 'audio', source, name: null, at }];
    }
    case 'file': {
      const { file } = dropped.members(part, '', ['type', 'file']);
      const names = ['file_data', 'file_url', 'filename', 'file_id'] as const;
      const { file_data: data, file_url: url, filename, file_id: id } = dropped.members(file, 'file', names);
      const name = textIn(filename);
      if (typeof data === 'string') return [mediaPart({ source: fileSource(data, name), name, at }, 'file')];
      return typeof url === 'string'
        ? [mediaPart({ source: sourceOf(url), name, at }, 'file')]
        : foreignFile(`${at}.file.file_id`, id, dropped);
    }
    default: {
      const type = textOf((Object(part) as Fields)['type']);
      if (!dropped.isHistory) throw dropped.unsupportedParameter(`${at}.type`);
      return hostedParts(part, { type, name: `messages.content.${type}` }, dropped);
    }
  }
}
