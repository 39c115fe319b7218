import type { Fields } from '@gatehouse/kit/fields';
import { factsOf } from '../model-facts.ts';
import { fillingText } from '../reasoning-rewrite.ts';
import type { ModelFacts } from '../translation/api.ts';
import type { CallPart, MediaPart, Part, ResultPart, TextPart, Turn } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { unplacedMedia } from '../translation/hosted-history.ts';
import { fileName, isAudioOrVideo, namedText, notDocument, urlOf } from '../translation/media.ts';
import { isText } from '../file-types.ts';
import { chatOrigin } from '../translation/signatures.ts';
import { RawJson } from '../wire/json-text.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { withResultsBehindCalls } from '../translation/ordered-turns.ts';

interface Options {
  facts: ModelFacts;
  dropped: DroppedFields;
}

/** The messages of a conversation. Many servers take system texts at the beginning as one message only. */
export function* writeMessages(unordered: readonly Turn[], options: Options): Steps<Fields[]> {
  const turns = withResultsBehindCalls(unordered);
  const index = turns.findIndex(({ role }) => role !== 'system');
  const first = index < 0 ? turns.length : index;
  const system = turns.slice(0, first).flatMap(({ parts }) => parts);
  const messages = systemMessage(system);
  for (const turn of turns.slice(first)) {
    messages.push(...messagesOf(turn, options));
    yield;
  }
  return messages;
}

function systemMessage(parts: readonly Part[]): Fields[] {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }];
}

function messagesOf({ role, parts }: Turn, options: Options): Fields[] {
  if (role === 'system') return systemMessage(parts);
  return role === 'assistant' ? saidMessage(parts, options) : userMessages(parts, options.dropped);
}

function saidMessage(parts: readonly Part[], { facts }: Options): Fields[] {
  const calls = parts.flatMap((part, index) =>
    part.kind === 'call' ? [toolCall(part, parts[index - 1], facts)] : [],
  );
  const texts = parts.filter((part) => part.kind === 'text').map(({ text }) => text);
  const refused = parts.filter((part) => part.kind === 'refusal').map(({ text }) => text);
  // Servers in need of thoughts want them beside calls, and refuse them elsewhere.
  const thoughts = calls.length === 0 ? '' : ownThoughts(parts, facts);
  if (calls.length + texts.length + refused.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join(''),
      ...(refused.length > 0 && { refusal: refused.join('') }),
      ...reasoningOf(thoughts, calls.length > 0, facts),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

function toolCall(call: CallPart, before: Part | undefined, facts: ModelFacts): Fields {
  return {
    ...{ id: call.id, type: 'function' },
    function: { name: call.name, arguments: call.argumentsText },
    ...extraContent(before, facts),
  };
}

/** Kimi and DeepSeek refuse calls without reasoning, also those of other models. */
function reasoningOf(thoughts: string, hasCalls: boolean, facts: ModelFacts): Fields {
  const fill = facts.reasoningFill ?? (factsOf(facts).wantsReasoningText ? 'calls' : null);
  if (fill === 'none') return {};
  if (thoughts !== '') return { reasoning_content: thoughts };
  const text = fillingText(fill, hasCalls);
  return text === null ? {} : { reasoning_content: text };
}

function ownThoughts(parts: readonly Part[], { name }: ModelFacts): string {
  const origin = chatOrigin(name);
  return parts
    .map((part) => (part.kind === 'thinking' && part.signature?.origin === origin ? part.text : ''))
    .join('');
}

/** The content beside a call that its own server sent (`extraContentOf`). `before`: the part before the call. */
function extraContent(before: Part | undefined, { name }: ModelFacts): Fields {
  if (before?.kind !== 'thinking' || before.signature?.origin !== chatOrigin(name)) return {};
  const { text } = before.signature;
  return text === '' ? {} : { extra_content: new RawJson(text) };
}

/** Results come first. They hold texts alone here, so their images follow in a message of the user. */
function userMessages(parts: readonly Part[], dropped: DroppedFields): Fields[] {
  const results = parts.filter((part) => part.kind === 'result');
  const others = parts.filter(isPlain);
  const media = results.flatMap(mediaOf);
  const content = [...media, ...others].map((part) => contentPart(part, dropped));
  const [only] = content;
  const isOneText = content.length === 1 && only?.['type'] === 'text';
  return [
    ...results.map(resultMessage),
    ...(content.length === 0 ? [] : [{ role: 'user', content: isOneText ? only['text'] : content }]),
  ];
}

function isPlain(part: Part): part is TextPart | MediaPart {
  return part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'audio';
}

function mediaOf({ callId, parts }: ResultPart): (TextPart | MediaPart)[] {
  const media = parts.filter((part) => part.kind !== 'text');
  return media.length === 0 ? [] : [{ kind: 'text', text: `From the result of ${callId}:` }, ...media];
}

function resultMessage({ callId, parts, isError }: ResultPart): Fields {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const hasMedia = texts.length < parts.length;
  const text = texts.length === 0 && hasMedia ? 'The result is in the next message.' : texts.join('\n');
  return { role: 'tool', tool_call_id: callId, content: isError ? `Error: ${text}` : text };
}

function contentPart(part: TextPart | MediaPart, dropped: DroppedFields): Fields {
  if (part.kind === 'text') return { type: 'text', text: part.text };
  const { kind, source, name } = part;
  if (kind === 'image') return { type: 'image_url', image_url: { url: urlOf(source) } };
  if ('url' in source)
    return contentPart(unplacedMedia(part, dropped, 'The model takes this part as data only.'), dropped);
  if (kind === 'audio') {
    const format = source.mediaType.replace('audio/', '').replace(/^mpeg$/, 'mp3');
    return { type: 'input_audio', input_audio: { data: source.data, format } };
  }
  if (isText(source.mediaType)) return { type: 'text', text: namedText(source, name) };
  const filename = fileName(part);
  if (filename === null || isAudioOrVideo(part))
    return contentPart(unplacedMedia(part, dropped, notDocument), dropped);
  return { type: 'file', file: { filename, file_data: urlOf(source) } };
}
