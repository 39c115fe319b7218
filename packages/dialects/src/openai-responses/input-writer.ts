import { encryptedOf } from '../item-ids.ts';
import type { Fields } from '@gatehouse/kit/fields';
import type { MediaPart, Part, ResultPart, TextPart, Turn } from '../translation/conversation.ts';
import type { DeferredText } from '../wire/json-text.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { unplacedMedia } from '../translation/hosted-history.ts';
import { fileName, isAudioOrVideo, namedText, notDocument, urlOf } from '../translation/media.ts';
import { isText } from '../file-types.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { firstMessage } from '../translation/ordered-turns.ts';

/** The items of a conversation. System texts at its beginning are its instructions. */
export function* writeInput(
  turns: readonly Turn[],
  dropped: DroppedFields,
): Steps<{ instructions: string; input: Fields[] }> {
  // An input must have an item.
  const first = firstMessage(turns);
  const texts = turns
    .slice(0, first)
    .flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
  const input: Fields[] = [];
  for (const turn of turns.slice(first)) {
    input.push(...itemsOf(turn, dropped));
    yield;
  }
  return { instructions: texts.join('\n\n'), input: withoutRepeated(withLedItems(input)) };
}

/**
 * Without reasoning that led to nothing, as before a call that was cut or an empty text: the provider refuses it (`was
 * provided without its required following item`, https://github.com/openai/openai-node/issues/1567).
 */
function withLedItems(input: readonly Fields[]): Fields[] {
  let leads = false;
  const led = input.toReversed().filter(({ type, role }) => {
    if (type === 'reasoning') return leads;
    leads = type === 'function_call' || (type === 'message' && role === 'assistant');
    return true;
  });
  return led.toReversed();
}

/**
 * Without reasoning of an earlier item's id, as in a turn sent twice: the provider refuses it (`Duplicate item found with
 * id`, https://github.com/NousResearch/hermes-agent/pull/7946).
 */
function withoutRepeated(input: readonly Fields[]): Fields[] {
  const ids = new Set<unknown>();
  return input.filter(({ type, id }) => {
    if (type !== 'reasoning' || id === undefined) return true;
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew;
  });
}

function itemsOf({ role, parts }: Turn, dropped: DroppedFields): Fields[] {
  const items: Fields[] = [];
  let content: Fields[] = [];
  const end = (): void => {
    if (content.length > 0) items.push({ type: 'message', role, content });
    content = [];
  };
  for (const part of parts) {
    const item = itemOf(part, dropped);
    if (item === null) {
      content.push(...contentOf(part, role, dropped));
      continue;
    }
    end();
    items.push(...item);
  }
  end();
  return items;
}

/** The items of a part; null for a part of a message. */
function itemOf(part: Part, dropped: DroppedFields): Fields[] | null {
  switch (part.kind) {
    case 'call':
      return [{ type: 'function_call', call_id: part.id, name: part.name, arguments: part.argumentsText }];
    case 'result':
      return [resultItem(part, dropped)];
    case 'thinking': {
      const { text, signature } = part;
      if (signature?.origin !== 'openai') return [];
      const summary = text === '' ? [] : [{ type: 'summary_text', text }];
      return [{ type: 'reasoning', summary, ...encryptedOf(signature.text) }];
    }
    default:
      return null;
  }
}

function contentOf(part: Part, role: Turn['role'], dropped: DroppedFields): Fields[] {
  if (part.kind === 'refusal') return [{ type: 'refusal', refusal: part.text }];
  if (part.kind === 'text')
    return [
      role === 'assistant' ? { type: 'output_text', text: part.text, annotations: [] } : inputText(part.text),
    ];
  if (part.kind === 'image' || part.kind === 'file' || part.kind === 'audio') {
    if (role === 'assistant') return contentOf(unplacedMedia(part, dropped), role, dropped);
    return [mediaPart(part, dropped)];
  }
  return [];
}

function resultItem({ callId, parts, isError }: ResultPart, dropped: DroppedFields): Fields {
  const [only] = parts;
  const prefix = isError ? 'Error: ' : '';
  const isPlain = parts.length === 1 && only?.kind === 'text';
  const content = parts.map((part) => resultPart(part, dropped));
  const output = isPlain
    ? prefix + only.text
    : parts.length === 0
      ? prefix
      : [...(isError ? [inputText(prefix)] : []), ...content];
  return { type: 'function_call_output', call_id: callId, output };
}

function resultPart(part: TextPart | MediaPart, dropped: DroppedFields): Fields {
  return part.kind === 'text' ? inputText(part.text) : mediaPart(part, dropped);
}

function inputText(text: string | DeferredText): Fields {
  return { type: 'input_text', text };
}

function mediaPart(part: MediaPart, dropped: DroppedFields): Fields {
  const { kind, source, name } = part;
  if (kind === 'image') return { type: 'input_image', image_url: urlOf(source), detail: 'auto' };
  if (kind === 'audio') return inputText(unplacedMedia(part, dropped, "Audio input isn't supported.").text);
  if (isAudioOrVideo(part)) return inputText(unplacedMedia(part, dropped, notDocument).text);
  if ('url' in source) return { type: 'input_file', file_url: source.url };
  if (isText(source.mediaType)) return inputText(namedText(source, name));
  const filename = fileName(part);
  if (filename === null) return inputText(unplacedMedia(part, dropped, notDocument).text);
  return { type: 'input_file', filename, file_data: urlOf(source) };
}
