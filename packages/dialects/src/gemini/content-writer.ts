import type { Fields } from '@gatehouse/kit/fields';
import type { MediaPart, Part, ResultPart, Turn } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { unplacedMedia } from '../translation/hosted-history.ts';
import { namedText, typeOf } from '../translation/media.ts';
import { isText } from '../file-types.ts';
import { deferredInput } from '../anthropic-messages/content-writer.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { beginning, goOn } from '../translation/framed-turns.ts';
import { withResultsBehindCalls, firstMessage } from '../translation/ordered-turns.ts';
import { standIn } from '../marked-signatures.ts';

interface ContentOptions {
  /** Gemini 3 refuses calls of a turn without a signature on the first one. */
  isThird: boolean;
  /** Whether the conversation may end with the beginning of the answer. */
  takesPrefill: boolean;
  dropped: DroppedFields;
}

interface Content {
  role: 'model' | 'user';
  parts: Fields[];
}

/** The contents of a conversation, of which a call must not be the first. */
export function* writeContents(
  turns: readonly Turn[],
  options: ContentOptions,
): Steps<{ system: Fields[]; contents: Content[] }> {
  const first = firstMessage(turns);
  const system = turns.slice(0, first).flatMap(({ parts }) => parts.flatMap((part) => systemPart(part)));
  const names = new Map<string, string>();
  for (const part of turns.flatMap(({ parts }) => parts))
    if (part.kind === 'call') names.set(part.id, part.name);
  const contents: Content[] = [];
  for (const { isSaid, parts } of joined(withResultsBehindCalls(turns.slice(first)))) {
    const written = isSaid ? saidParts(parts, options) : userParts(parts, names, options.dropped);
    if (isSaid && contents.length === 0 && parts.some(({ kind }) => kind === 'call'))
      contents.push({ role: 'user', parts: [{ text: beginning }] });
    const role = isSaid ? 'model' : 'user';
    const last = contents.at(-1);
    // A content of thoughts alone may have stood between two of one side.
    if (last?.role === role) last.parts.push(...written);
    else if (written.length > 0) contents.push({ role, parts: written });
    yield;
  }
  if (!options.takesPrefill && contents.at(-1)?.role === 'model') {
    options.dropped.ignoreField('turns');
    contents.push({ role: 'user', parts: [{ text: goOn }] });
  }
  return { system, contents };
}

/** Successive turns of one side are one. */
function joined(turns: readonly Turn[]): { isSaid: boolean; parts: Part[] }[] {
  const groups: { isSaid: boolean; parts: Part[] }[] = [];
  for (const { role, parts } of turns) {
    const isSaid = role === 'assistant';
    const last = groups.at(-1);
    if (last?.isSaid === isSaid) last.parts.push(...parts);
    else groups.push({ isSaid, parts: [...parts] });
  }
  return groups;
}

function systemPart(part: Part): Fields[] {
  return part.kind === 'text' ? [{ text: part.text }] : [];
}

/** A signature stands at the part behind its thought. */
function saidParts(parts: readonly Part[], { isThird, dropped }: ContentOptions): Fields[] {
  const written: Fields[] = [];
  let signature: string | null = null;
  let hasCalls = false;
  for (const part of parts) {
    if (part.kind === 'thinking') {
      if (part.signature?.origin !== 'google') continue;
      if (signature !== null) signLast(written, signature);
      signature = part.signature.text;
      continue;
    }
    const isFirstCall = part.kind === 'call' && !hasCalls;
    hasCalls ||= part.kind === 'call';
    const sent = signature ?? (isFirstCall && isThird ? standIn : null);
    signature = null;
    for (const each of saidPart(part, dropped))
      written.push({ ...each, ...(sent !== null && { thoughtSignature: sent }) });
  }
  if (signature !== null) signLast(written, signature);
  return written;
}

/** Puts a signature without a part behind it on the text before it: models give one with the last piece of a text. */
function signLast(written: Fields[], signature: string): void {
  const last = written.at(-1);
  if (typeof last?.['text'] === 'string' && last['thoughtSignature'] === undefined)
    last['thoughtSignature'] = signature;
}

function saidPart(part: Part, dropped: DroppedFields): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return [{ text: part.text }];
    case 'call':
      return [{ functionCall: { name: part.name, args: deferredInput(part) } }];
    case 'image':
    case 'file':
    case 'audio':
      return [mediaPart(part, dropped)];
    default:
      return [];
  }
}

/** Results are found by their names and their order, the same as the order of the calls. */
function userParts(
  parts: readonly Part[],
  names: ReadonlyMap<string, string>,
  dropped: DroppedFields,
): Fields[] {
  const results = parts.filter((part) => part.kind === 'result');
  const media = results.flatMap((result) => result.parts.filter((part) => part.kind !== 'text'));
  return [
    ...results.map((result) => resultPart(result, names)),
    ...media.map((part) => mediaPart(part, dropped)),
    ...parts.flatMap((part) => (part.kind === 'result' ? [] : saidPart(part, dropped))),
  ];
}

function resultPart({ callId, parts, isError }: ResultPart, names: ReadonlyMap<string, string>): Fields {
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  const response = isError ? { error: text } : { output: text };
  return { functionResponse: { name: names.get(callId) ?? callId, response } };
}

function mediaPart(part: MediaPart, dropped: DroppedFields): Fields {
  const { kind, source, name } = part;
  if ('url' in source) {
    if (kind === 'audio') return { text: unplacedMedia(part, dropped).text };
    const mimeType = typeOf(part);
    return { fileData: { fileUri: source.url, ...(mimeType !== null && { mimeType }) } };
  }
  if (kind === 'file' && isText(source.mediaType)) return { text: namedText(source, name) };
  return { inlineData: { mimeType: source.mediaType, data: source.data } };
}
