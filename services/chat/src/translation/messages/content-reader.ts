import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { blocksOf } from '../../dialects/anthropic/content.ts';
import type { MediaPart, MediaSource, Part, Seal, TextPart } from '../conversation.ts';
import { textIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { LeftOut } from '../left-out.ts';
import { readMarked } from '../seals.ts';
import type { Steps } from '../steps.ts';

/** The place of a content in the request. */
interface Place {
  at: string;
  source: JsonSource | null;
  left: LeftOut;
}

/** The parts of a message. Throws a 400 for a block that other APIs don't have. */
export function* readContent(content: unknown, place: Place): Steps<Part[]> {
  const parts: Part[] = [];
  for (const [index, block] of blocksOf(content).entries()) {
    parts.push(...partsOf(block, index, place));
    yield;
  }
  return parts;
}

/** Texts alone may stand in system messages. */
export function systemParts(content: unknown, at: string, left: LeftOut): TextPart[] {
  return blocksOf(content).map((block, index) => {
    if (block['type'] !== 'text') throw left.refused(`${at}[${index}].type`);
    noteHints(block, ['text'], left);
    return textPart(block);
  });
}

function partsOf(block: Fields, index: number, { at, source, left }: Place): Part[] {
  const place = `${at}[${index}]`;
  switch (block['type']) {
    case 'thinking':
    case 'redacted_thinking':
      return [thinkingPart(block)];
    case 'tool_use': {
      noteHints(block, ['id', 'name', 'input', 'caller'], left);
      const argumentsText = source?.element(index)?.textOf('input') ?? '{}';
      const { id, name } = block;
      const called = { id: textIn(id) ?? '', name: textIn(name) ?? '' };
      return [{ kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null }];
    }
    case 'tool_result': {
      noteHints(block, ['tool_use_id', 'content', 'is_error'], left);
      const inner = blocksOf(block['content']);
      const parts = inner.flatMap((each, at) => plainParts(each, `${place}.content[${at}]`, left));
      const callId = textIn(block['tool_use_id']) ?? '';
      return [{ kind: 'result', callId, parts, isError: block['is_error'] === true }];
    }
    default:
      return plainParts(block, place, left);
  }
}

function plainParts(block: Fields, at: string, left: LeftOut): (TextPart | MediaPart)[] {
  const { type, source } = block;
  switch (type) {
    case 'text':
      noteHints(block, ['text'], left);
      return [textPart(block)];
    case 'image':
      noteHints(block, ['source'], left);
      return [{ kind: 'image', source: sourceOf(source, at, left), name: null, at }];
    case 'document':
      return documentParts(block, at, left);
    case 'search_result':
      noteHints(block, ['source', 'title', 'content'], left);
      return [title(block['title']), title(source), ...blocksOf(block['content']).map(textPart)].flat();
    default:
      throw left.refused(`${at}.type`, `Only Anthropic's models take ${String(type).slice(0, 64)} blocks.`);
  }
}

function documentParts(block: Fields, at: string, left: LeftOut): (TextPart | MediaPart)[] {
  noteHints(block, ['source', 'title', 'context'], left);
  const { source, title: name, context } = block;
  const { type, data, content } = Object(source) as Fields;
  const before = [...title(name), ...title(context)];
  if (type === 'text') return [...before, { kind: 'text', text: textIn(data) ?? '' }];
  if (type === 'content')
    return [
      ...before,
      ...blocksOf(content).flatMap((each, index) => innerPart(each, `${at}.source.content[${index}]`, left)),
    ];
  return [...title(context), { kind: 'file', source: sourceOf(source, at, left), name: textIn(name), at }];
}

/** A document holds texts and images, and no document. */
function innerPart(block: Fields, at: string, left: LeftOut): (TextPart | MediaPart)[] {
  if (block['type'] !== 'text' && block['type'] !== 'image') throw left.refused(`${at}.type`);
  return plainParts(block, at, left);
}

function title(value: unknown): TextPart[] {
  return typeof value === 'string' && value !== '' ? [{ kind: 'text', text: value }] : [];
}

function textPart({ text }: Fields): TextPart {
  return { kind: 'text', text: textIn(text) ?? '' };
}

function sourceOf(source: unknown, at: string, left: LeftOut): MediaSource {
  const { type, url, data, media_type: mediaType } = Object(source) as Fields;
  if (type === 'url' && typeof url === 'string') return { url };
  if (type === 'base64' && typeof data === 'string')
    return { data, mediaType: textIn(mediaType) ?? 'application/octet-stream' };
  throw left.refused(`${at}.source.type`, 'Files of a provider are known to it alone.');
}

/** Anthropic's own signatures have no mark. */
export function thinkingPart({ type, thinking, signature, data }: Fields): Part & { kind: 'thinking' } {
  const isRedacted = type === 'redacted_thinking';
  const text = textIn(isRedacted ? data : signature) ?? '';
  const own: Seal | null = text === '' ? null : { maker: 'anthropic', text, isRedacted };
  return {
    kind: 'thinking',
    text: isRedacted ? '' : (textIn(thinking) ?? ''),
    seal: readMarked(text) ?? own,
  };
}

/** Members of a block that are no part of what it says. */
function noteHints(block: Fields, said: readonly string[], left: LeftOut): void {
  for (const [name, value] of Object.entries(block)) {
    if (name === 'type' || said.includes(name) || value === null) continue;
    if (name === 'citations' && (listOf(value).length > 0 || !isFields(value))) continue;
    left.ignore(name);
  }
}
