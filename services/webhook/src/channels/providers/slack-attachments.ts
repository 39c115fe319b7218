import { z } from 'zod';
import type { QuotedMessage } from '../adapter.ts';
import { lenient } from './provider-call.ts';
import { maxBlockDepth, maxBlockItems, maxQuotes } from '../../bounds.ts';

/** https://docs.slack.dev/messaging/formatting-message-text, and attachments of shared messages as Slack sends them. */

const text = lenient(z.string());
const list = lenient(z.array(z.unknown()));
const attachment = z.object({
  ...{ is_share: lenient(z.boolean()), is_msg_unfurl: lenient(z.boolean()) },
  ...{ author_name: text, author_id: text, title: text, text, fallback: text },
  ...{ message_blocks: list, blocks: list, files: list },
});

/** The attachments of a message; further ones are not read. */
export const attachmentList = z.preprocess(
  (items) => (Array.isArray(items) ? items.slice(0, maxQuotes) : items),
  z.array(lenient(attachment)),
);
type Attachments = z.output<typeof attachmentList>;

/** Slack's text of an attachment that has only blocks. */
const noPreview = '[no preview available]';

/** Messages that a message shares, and previews of its links. */
export function sharedIn(attachments: Attachments): QuotedMessage[] {
  return attachments.flatMap((each) => quoteOf(each) ?? []);
}

function quoteOf(each: Attachments[number]): QuotedMessage | null {
  if (each === undefined) return null;
  const { title, author_name: name, author_id: author } = each;
  const isMessage = each.is_share === true || each.is_msg_unfurl === true;
  const before = isMessage ? hasFiles(each) && '(file)' : title;
  const parts = [before, contentOf(each)].filter((part) => typeof part === 'string');
  if (parts.length === 0) return null;
  const text = plainText(parts.join('\n'));
  if (!isMessage) return { kind: 'page', by: null, text };
  return { kind: 'forward', by: name ?? (author === undefined ? null : `@${author}`), text };
}

/** The text of an attachment, in the first of its forms with a text. */
function contentOf(each: NonNullable<Attachments[number]>): string | undefined {
  const { text: written, message_blocks: messageBlocks, blocks, fallback } = each;
  const texts = [written, textOfBlocks(messageBlocks), textOfBlocks(blocks), fallback];
  return texts.find((content) => content !== undefined && content.trim() !== '' && content !== noPreview);
}

/** Whether a shared message has files. */
export function hasFiles(each: Attachments[number]): boolean {
  return (each?.files?.length ?? 0) > 0;
}

/** A text with `&`, `<` and `>` as they were written. */
export function plainText(written: string): string {
  return written.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

function textOfBlocks(blocks: readonly unknown[] | undefined): string {
  const left = { items: maxBlockItems };
  return (blocks ?? []).map((block) => textOfBlock(block, left, 0)).join('\n');
}

/** Elements of these are parts of a line; others stand below each other: https://docs.slack.dev/reference/block-kit */
const inLine = new Set<unknown>(['rich_text_section', 'rich_text_preformatted', 'rich_text_quote']);

function textOfBlock(block: unknown, left: { items: number }, depth: number): string {
  left.items -= 1;
  if (typeof block !== 'object' || block === null || left.items < 0 || depth > maxBlockDepth) return '';
  const {
    type,
    text: content,
    url,
    name,
    user_id: user,
    elements,
    fields,
    message,
    blocks,
  } = block as Record<string, unknown>;
  if (typeof content === 'string') return content;
  if (typeof url === 'string') return url;
  if (typeof user === 'string') return `<@${user}>`;
  if (type === 'emoji' && typeof name === 'string') return `:${name}:`;
  const parts = [content, elements, fields, message, blocks].flat();
  const texts = parts.map((part) => textOfBlock(part, left, depth + 1)).filter((part) => part !== '');
  return texts.join(inLine.has(type) ? '' : '\n');
}
