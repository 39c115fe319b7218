import { withItemId } from '../item-ids.ts';
import { clientItems } from './items.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type {
  CallPart,
  MediaPart,
  MediaSource,
  Part,
  TextPart,
  ThinkingPart,
  Turn,
} from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { DroppedFields, Members } from '../translation/dropped-fields.ts';
import { pointIn, withCachePoint } from '../translation/cache-points.ts';
import { foreignFile, hostedParts } from '../translation/hosted-history.ts';
import { fileSource, mediaPart, sourceOf } from '../translation/media.ts';
import { readMarked } from '../translation/signatures.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** The turns of an input. Successive items of the model are one turn of it, and so are results. */
export function* readInput(input: unknown, dropped: DroppedFields): Steps<Turn[]> {
  const turns: Turn[] = [];
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input);
  const past = items.findLastIndex(isOfModel);
  for (const [index, item] of items.entries()) {
    dropped.isHistory = index <= past;
    const turn = markedTurn(turnOf(item, `input[${index}]`, dropped), item);
    const last = turns.at(-1);
    const joins = turn?.role === 'assistant' || turn?.parts.every(({ kind }) => kind === 'result');
    const isSame = turn !== null && last?.role === turn.role;
    if (isSame && joins && last.parts.at(-1)?.kind !== undefined && canJoin(last, turn))
      last.parts.push(...turn.parts);
    else if (turn !== null) turns.push(turn);
    yield;
  }
  dropped.isHistory = false;
  if (turns.length === 0) assertReadable(items, dropped);
  return turns;
}

function markedTurn(turn: Turn | null, item: unknown): Turn | null {
  return turn === null ? null : { ...turn, parts: withCachePoint(turn.parts, item) };
}

function isOfModel(item: unknown): boolean {
  const { type, role } = Object(item) as Fields;
  return role === 'assistant' || (typeof type === 'string' && !clientItems.test(type));
}

/** Throws a 400 where nothing is left of a conversation. */
function assertReadable(items: readonly unknown[], dropped: DroppedFields): void {
  const place = items.findIndex((item) => !isOwn((Object(item) as Fields)['type']));
  if (place >= 0)
    throw dropped.unsupportedParameter(
      `input[${place}].type`,
      'The model of another provider alone can read the conversation.',
    );
}

/** Whether an item may stand in a conversation of any model, or none of it. */
function isOwn(type: unknown): boolean {
  return type === undefined || type === null || (typeof type === 'string' && isTranslated(type));
}

/** A message of the user is no part of the results before it. */
function canJoin(last: Turn, turn: Turn): boolean {
  return turn.role === 'assistant' || last.parts.every(({ kind }) => kind === 'result');
}

/** Translated members of items. Ids and states are of an earlier answer. */
const translated = {
  message: ['role', 'content'],
  function_call: ['call_id', 'name', 'namespace', 'arguments'],
  custom_tool_call: ['call_id', 'name', 'namespace', 'input'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call_output: ['call_id', 'output'],
  reasoning: ['summary', 'content', 'encrypted_content'],
  additional_tools: ['tools', 'role'],
  compaction_trigger: [],
} as const;

function turnOf(input: unknown, at: string, dropped: DroppedFields): Turn | null {
  const { type: named } = Object(input) as Fields;
  const type = named === undefined || named === null ? 'message' : textOf(named);
  if (!isTranslated(type)) return hostedTurn(input, type, dropped);
  const item = dropped.members<string>(input, 'input', ['type', 'id', 'status', ...translated[type]]);
  const { role, content, call_id: callId, output } = item;
  switch (type) {
    case 'message': {
      const parts = contentParts(content, `${at}.content`, dropped);
      if (role === 'system' || role === 'developer') return { role: 'system', parts };
      if (role === undefined || role === 'user') return { role: 'user', parts };
      if (role === 'assistant') return { role, parts };
      throw dropped.unsupportedParameter(`${at}.role`);
    }
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [callOf(item)] };
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const parts = contentParts(output, `${at}.output`, dropped).filter((part) => part.kind !== 'refusal');
      const called = { kind: 'result', callId: textOf(callId), isError: false } as const;
      const result = { ...called, parts, ...pointIn(parts) };
      return { role: 'user', parts: [result] };
    }
    case 'reasoning':
      return { role: 'assistant', parts: thinkingParts(item) };
    case 'additional_tools':
    case 'compaction_trigger':
      return null;
  }
}

/** An item of a provider's tool, or an unknown one; null without words. */
function hostedTurn(item: unknown, type: string, dropped: DroppedFields): Turn | null {
  const role = clientItems.test(type) ? 'user' : 'assistant';
  const parts: Part[] = hostedParts(item, { type, name: `input.${type}` }, dropped);
  const { image_url: url } = Object((Object(item) as Fields)['output']) as Fields;
  if (role === 'user' && typeof url === 'string')
    parts.push(mediaPart({ source: sourceOf(url), name: null, at: 'input' }, 'image'));
  return parts.length === 0 ? null : { role, parts };
}

function isTranslated(type: string): type is keyof typeof translated {
  return Object.hasOwn(translated, type);
}

/** A call among the items of an input, or of an output. */
export function callOf({ type, call_id: callId, name, namespace, arguments: text, input }: Fields): CallPart {
  const isFreeform = type === 'custom_tool_call';
  return {
    kind: 'call',
    id: textOf(callId),
    name: textOf(name),
    argumentsText: textOf(isFreeform ? input : text),
    isFreeform,
    namespace: textIn(namespace),
  };
}

/** The thought of an item; nothing where it is known by its id alone. OpenAI's own content has no mark. */
export function thinkingParts(item: Fields): ThinkingPart[] {
  const text = thoughtText(item);
  const encrypted = textOf(item['encrypted_content']);
  const unmarked =
    encrypted === ''
      ? null
      : { origin: 'openai', text: withItemId(item['id'], encrypted), isRedacted: false };
  const signature = readMarked(encrypted) ?? unmarked;
  return text === '' && signature === null ? [] : [{ kind: 'thinking', text, signature }];
}

function thoughtText({ summary, content }: Fields): string {
  const texts = [...listOf(summary), ...listOf(content)].filter(isFields).map(({ text }) => textOf(text));
  return texts.filter((text) => text !== '').join('\n\n');
}

type ContentPart = TextPart | MediaPart | Extract<Part, { kind: 'refusal' }>;

function contentParts(content: unknown, at: string, dropped: DroppedFields): ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return listOf(content).flatMap((part, index) =>
    withCachePoint(partsOf(part, `${at}[${index}]`, dropped), part),
  );
}

function partsOf(part: unknown, at: string, dropped: DroppedFields): ContentPart[] {
  switch ((Object(part) as Fields)['type']) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const { text } = dropped.members(part, '', ['type', 'text', 'annotations', 'logprobs']);
      return [{ kind: 'text', text: textOf(text) }];
    }
    case 'refusal': {
      const { refusal } = dropped.members(part, '', ['type', 'refusal']);
      return [{ kind: 'refusal', text: textOf(refusal) }];
    }
    case 'input_image': {
      const names = ['type', 'image_url', 'detail', 'file_id'] as const;
      const { image_url: url, detail, file_id: id } = dropped.members(part, '', names);
      if (typeof url !== 'string') return foreignFile(`${at}.file_id`, id, dropped);
      if (detail !== undefined && detail !== 'auto') dropped.ignore('detail');
      return [mediaPart({ source: sourceOf(url), name: null, at }, 'image')];
    }
    case 'input_file': {
      const names = ['type', 'file_data', 'file_url', 'filename', 'file_id'] as const;
      const file = dropped.members(part, '', names);
      const source = fileOf(file);
      if (source === null) return foreignFile(`${at}.file_id`, file.file_id, dropped);
      return [mediaPart({ source, name: textIn(file.filename), at }, 'file')];
    }
    default: {
      const type = textOf((Object(part) as Fields)['type']);
      if (!dropped.isHistory) throw dropped.unsupportedParameter(`${at}.type`);
      return hostedParts(part, { type, name: `input.content.${type}` }, dropped);
    }
  }
}

/** Null for a file by the id of a provider. */
function fileOf({
  file_data: data,
  file_url: url,
  filename: name,
}: Members<'file_data' | 'file_url' | 'filename'>): MediaSource | null {
  if (typeof url === 'string') return { url };
  return typeof data === 'string' ? fileSource(data, textIn(name)) : null;
}
