import { isFields, type Fields } from '@gatehouse/kit/fields';
import { isText } from '../file-types.ts';
import { standIn } from '../marked-signatures.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { objectIn, objectsIn, valueOf } from './fields.ts';
import { textOf } from '../translation/fields.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';

/** Contents: a role, and parts. Newer kinds of parts count as nothing. */

export function partsOf(content: unknown): Fields[] {
  return isFields(content) ? objectsIn(content, 'parts') : [];
}

/** The text of parts with a cost in tokens: texts, thoughts, calls of tools and their results. */
export function partsText(parts: readonly Fields[]): string {
  return parts.map(partText).join('');
}

/** Members of parts, and their own members with a cost in tokens. */
const textMembers = [
  ['functionCall', 'name', 'args'],
  ['functionResponse', 'name', 'response'],
  ['executableCode', 'code'],
  ['codeExecutionResult', 'output'],
] as const;

function partText(part: Fields): string {
  if (typeof part['text'] === 'string') return part['text'];
  let all = '';
  for (const [name, ...inner] of textMembers) {
    const member = valueOf(part, name);
    if (!isFields(member)) continue;
    for (const each of inner) {
      const value = member[each];
      all += isFields(value) ? JSON.stringify(value) : textOf(value);
    }
  }
  return all;
}

/** The texts of parts for a reader: all but thoughts. */
export function spokenText(parts: readonly Fields[], separator = ''): string {
  const texts = parts.map(({ text, thought }) => (typeof text === 'string' && thought !== true ? text : ''));
  return texts.filter((text) => text !== '').join(separator);
}

/** The call of a tool of the client or the gateway; null for any other part. */
export function callIn(part: Fields): Fields | null {
  const call = valueOf(part, 'functionCall');
  return isFields(call) ? call : null;
}

/** The name of the tool called by a part; empty without a call. */
export function calledName(part: Fields): string {
  return textOf(callIn(part)?.['name']);
}

/** Stand-ins that clients send. */
const standIns = new Set([standIn, 'context_engineering_is_the_way_to_go']);

/** Whether a part goes back to its own vendor alone: a signature holds its thoughts. */
export function isSigned(part: Fields): boolean {
  const signature = textOf(valueOf(part, 'thoughtSignature'));
  return signature !== '' && !standIns.has(signature);
}

/** The signature of a part by Google: one without a mark; null without any. */
export function ownSignature(part: Fields): ReasoningSignature | null {
  if (!isSigned(part)) return null;
  return { origin: 'google', text: textOf(valueOf(part, 'thoughtSignature')), isRedacted: false };
}

/**
 * The part of a stream in which the provider is silent: an empty thought. Google's SDKs leave a whole turn out of their
 * history after a response without parts (isValidContent in
 * https://github.com/googleapis/js-genai/blob/main/src/chats.ts), and some of them after an empty text.
 */
export const keepAlivePart = { text: '', thought: true } as const;

/** Whether a part is `keepAlivePart`, which SDKs may send without its empty text, or with empty members. */
export function isKeepAlive(part: Fields): boolean {
  return part['thought'] === true && isBlank(part);
}

/** Whether a part has nothing but an empty text or an empty thought. */
export function isBlank(part: Fields): boolean {
  return Object.entries(part).every(
    ([name, value]) => value === null || value === '' || (name === 'thought' && typeof value === 'boolean'),
  );
}

export interface ContentAttachments extends MessageAttachments {
  hasAudio: boolean;
}

/** Pictures, sounds and files in parts, those of results of tools included. Texts in Base64 count as texts. */
export function attachmentsIn(parts: readonly Fields[]): ContentAttachments {
  const attachments: ContentAttachments = { count: 0, bytes: 0, linked: 0, hasAudio: false };
  const inner = parts.flatMap((part) => objectsIn(objectIn(part, 'functionResponse'), 'parts'));
  for (const part of [...parts, ...inner]) {
    for (const name of ['inlineData', 'fileData']) {
      const data = valueOf(part, name);
      if (!isFields(data)) continue;
      const type = textOf(valueOf(data, 'mimeType'));
      if (name === 'inlineData' && isText(type)) continue;
      attachments.count += 1;
      attachments.linked += name === 'fileData' ? 1 : 0;
      attachments.bytes += textOf(data['data']).length;
      attachments.hasAudio ||= type.startsWith('audio/');
    }
  }
  return attachments;
}
