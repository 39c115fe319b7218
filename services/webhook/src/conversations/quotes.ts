import type { QuotedMessage } from '../channels/adapter.ts';
import { cut } from '../templates/json-excerpt.ts';
import { maxForwardedChars, maxQuotedChars, maxQuotedNameChars } from '../bounds.ts';

/** The line above a quote. It shows that the sender of the message has not written what follows. */
const heads: Record<QuotedMessage['kind'], (by: string | null) => string> = {
  reply: (by) => (by === null ? '[In reply to this message:]' : `[In reply to this message of ${by}:]`),
  replyToBot: () => '[In reply to your message:]',
  forward: (by) => (by === null ? '[Forwarded message:]' : `[Forwarded message of ${by}:]`),
  page: () => '[Preview of a link:]',
};

/** A line that a model could take for one of the heads, with a group for the characters before its bracket. */
const likeHead = /^([\s\p{C}]*)\[(?=[\s\p{C}]*(?:in[\s\p{C}]+reply|forwarded|preview)\b)/iu;

/**
 * The text of a message below the messages that it replies to or forwards, which stand behind `> `. Lines of the sender's
 * own that look like a head of these get a backslash before the bracket. Null if the message has nothing to read, also
 * where it replies to another one by an attachment alone.
 */
export function withQuotes(text: string | null, quotes: readonly QuotedMessage[]): string | null {
  const isAnswer = quotes.every(({ kind }) => kind === 'reply' || kind === 'replyToBot');
  if (text === null && isAnswer) return null;
  return [...quotes.map(quoteText), ...(text === null ? [] : [withoutHeads(text)])].join('\n\n');
}

function withoutHeads(text: string): string {
  return text.replaceAll(/[^\n\r\v\f\u0085\u2028\u2029]+/g, (line) => line.replace(likeHead, '$1\\['));
}

function quoteText({ kind, by, text }: QuotedMessage): string {
  const content = cut(text, kind === 'forward' ? maxForwardedChars : maxQuotedChars);
  // No line of a quote looks like the sender's own.
  const lines = content.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map((line) => `> ${line}`);
  return [heads[kind](nameOf(by)), ...lines].join('\n');
}

/** A name in one line without brackets; null for an empty one. */
export function nameOf(by: string | null): string | null {
  const name = (by ?? '').replaceAll(/[\p{C}\p{Zl}\p{Zp}[\]]+/gu, ' ').trim();
  return name === '' ? null : cut(name, maxQuotedNameChars);
}
