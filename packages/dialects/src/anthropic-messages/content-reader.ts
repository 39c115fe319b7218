import { functionCall } from '../translation/call-ids.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import {
  type MediaPart,
  type MediaSource,
  type Part,
  type ReasoningSignature,
  type TextPart,
} from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import type { DroppedFields, Members } from '../translation/dropped-fields.ts';
import { cachePointOf, withCachePoint } from '../translation/cache-points.ts';
import { foreignFile, hostedParts } from '../translation/hosted-history.ts';
import { dataSource, mediaPart } from '../translation/media.ts';
import { readMarked } from '../translation/signatures.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** The place of a content in the request. */
interface Place {
  at: string;
  /** The index of the first block to be read. */
  from?: number;
  source: JsonSource | null;
  dropped: DroppedFields;
}

/** The parts of a message. Throws a 400 for a block unknown to other APIs. */
export function* readContent(content: unknown, place: Place): Steps<Part[]> {
  const parts: Part[] = [];
  for (const [index, block] of listOfBlocks(content).entries()) {
    if (index >= (place.from ?? 0)) parts.push(...withCachePoint(partsOf(block, index, place), block));
    yield;
  }
  return parts;
}

/** Texts alone may stand in system messages. */
export function systemParts(content: unknown, at: string, dropped: DroppedFields): TextPart[] {
  return listOfBlocks(content).map((block, index) => {
    if (typeOf(block) !== 'text') throw dropped.unsupportedParameter(`${at}[${index}].type`);
    return { ...textPart(block, dropped), ...cachePointOf(block) };
  });
}

/** A text is a block. */
function listOfBlocks(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
}

function typeOf(block: unknown): unknown {
  return (Object(block) as Fields)['type'];
}

/** The content members of a block. */
function assistantBlock<Name extends string>(
  block: unknown,
  names: readonly Name[],
  dropped: DroppedFields,
): Members<Name> {
  return dropped.members(block, '', [...names, 'type' as Name]);
}

function partsOf(block: unknown, index: number, { at, source, dropped }: Place): Part[] {
  const place = `${at}[${index}]`;
  switch (typeOf(block)) {
    case 'thinking':
    case 'redacted_thinking':
      return [thinkingPart(assistantBlock(block, ['thinking', 'signature', 'data'], dropped))];
    case 'tool_use': {
      const { id, name } = assistantBlock(block, ['id', 'name', 'input', 'caller'], dropped);
      const argumentsText = source?.element(index)?.textOf('input') ?? '{}';
      return [functionCall(id, name, argumentsText)];
    }
    case 'tool_result': {
      const names = ['tool_use_id', 'content', 'is_error'] as const;
      const { content, tool_use_id: id, is_error: isError } = assistantBlock(block, names, dropped);
      const parts = listOfBlocks(content).flatMap((each, at) =>
        resultParts(each, `${place}.content[${at}]`, dropped),
      );
      return [{ kind: 'result', callId: textOf(id), parts, isError: isError === true }];
    }
    default:
      return plainParts(block, place, dropped);
  }
}

function plainParts(block: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  const type = typeOf(block);
  switch (type) {
    case 'text':
      return [textPart(block, dropped)];
    case 'image': {
      const { source } = assistantBlock(block, ['source'], dropped);
      return mediaParts(source, { kind: 'image', name: null, at }, dropped);
    }
    case 'document':
      return documentParts(block, at, dropped);
    case 'search_result': {
      const names = ['source', 'title', 'content', 'citations'] as const;
      const { source, title: name, content, citations } = assistantBlock(block, names, dropped);
      noteCitations(citations, dropped);
      const texts = listOfBlocks(content).map((each) => textPart(each, dropped));
      return [...title(name), ...title(source), ...texts];
    }
    default: {
      const named = textOf(type);
      if (!dropped.isHistory)
        throw dropped.unsupportedParameter(
          `${at}.type`,
          `Only Anthropic's models take ${named.slice(0, 64)} blocks.`,
        );
      return hostedParts(block, { type: named, name: `messages.content.${named}` }, dropped);
    }
  }
}

/** Blocks of results for Anthropic's models alone, such as tools that a search has found, are of the history. */
function resultParts(block: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  const type = textOf(typeOf(block));
  return plainTypes.has(type)
    ? plainParts(block, at, dropped)
    : hostedParts(block, { type, name: `messages.content.${type}` }, dropped);
}

const plainTypes: ReadonlySet<string> = new Set(['text', 'image', 'document', 'search_result']);

function documentParts(block: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  const names = ['source', 'title', 'context', 'citations'] as const;
  const { source, title: name, context, citations } = assistantBlock(block, names, dropped);
  noteCitations(citations, dropped);
  const sourceNames = ['type', 'data', 'content', 'media_type', 'url', 'file_id'] as const;
  const { type, data, content } = dropped.members(source ?? {}, 'source', sourceNames);
  const before = [...title(name), ...title(context)];
  if (type === 'text') return [...before, { kind: 'text', text: textOf(data) }];
  if (type === 'content')
    return [
      ...before,
      ...listOfBlocks(content).flatMap((each, index) =>
        innerPart(each, `${at}.source.content[${index}]`, dropped),
      ),
    ];
  return [...title(context), ...mediaParts(source, { kind: 'file', name: textIn(name), at }, dropped)];
}

/** A document holds texts and images, and no document. */
function innerPart(block: unknown, at: string, dropped: DroppedFields): (TextPart | MediaPart)[] {
  const type = typeOf(block);
  if (type !== 'text' && type !== 'image' && !dropped.isHistory)
    throw dropped.unsupportedParameter(`${at}.type`);
  return plainParts(block, at, dropped);
}

function title(value: unknown): TextPart[] {
  return typeof value === 'string' && value !== '' ? [{ kind: 'text', text: value }] : [];
}

/** Quotations of earlier answers are no part of their text. */
function textPart(block: unknown, dropped: DroppedFields): TextPart {
  const { text, citations } = assistantBlock(block, ['text', 'citations'], dropped);
  noteCitations(citations, dropped);
  return { kind: 'text', text: textOf(text) };
}

/** A list of them is of an earlier answer, and an object asks for them. */
function noteCitations(citations: unknown, dropped: DroppedFields): void {
  if (isFields(citations)) dropped.ignore('citations');
}

function mediaParts(
  source: unknown,
  { kind, name, at }: Pick<MediaPart, 'kind' | 'name' | 'at'>,
  dropped: DroppedFields,
): (TextPart | MediaPart)[] {
  const names = ['type', 'url', 'data', 'media_type', 'file_id'] as const;
  const members = dropped.members(source ?? {}, 'source', names);
  const read = sourceOf(members);
  return read === null
    ? foreignFile(`${at}.source.type`, members.file_id, dropped)
    : [mediaPart({ source: read, name, at }, kind)];
}

/** Null for a file by the id of a provider. */
function sourceOf({
  type,
  url,
  data,
  media_type: mediaType,
}: Members<'type' | 'url' | 'data' | 'media_type'>): MediaSource | null {
  if (type === 'url' && typeof url === 'string') return { url };
  if (type === 'base64' && typeof data === 'string') return dataSource(data, textOf(mediaType));
  return null;
}

/** Anthropic's own signatures have no mark. */
export function thinkingPart({
  type,
  thinking,
  signature,
  data,
}: Members<'type' | 'thinking' | 'signature' | 'data'>): Part & { kind: 'thinking' } {
  const isRedacted = type === 'redacted_thinking';
  const text = textOf(isRedacted ? data : signature);
  const reasoningSignature: ReasoningSignature | null =
    text === '' ? null : { origin: 'anthropic', text, isRedacted };
  return {
    kind: 'thinking',
    text: isRedacted ? '' : textOf(thinking),
    signature: readMarked(text) ?? reasoningSignature,
  };
}
