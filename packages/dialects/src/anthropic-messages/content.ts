import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { isText } from '../file-types.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { textOf } from '../translation/fields.ts';
import { maxDepth } from '../bounds.ts';

/** Contents of messages: a text, or blocks. Newer kinds of blocks count as nothing. */

/** The blocks of a content. */
export function blocksOf(content: unknown): Fields[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isFields);
}

/** The text of a content with a cost in tokens: texts, thoughts, calls of tools and their results. */
export function contentText(content: unknown, depth = 0): string {
  if (depth > maxDepth) return '';
  return blocksOf(content)
    .map((block) => blockText(block, depth))
    .join('');
}

function blockText(
  { type, text, thinking, name, input, content, source, title, context }: Fields,
  depth: number,
): string {
  switch (type) {
    case 'text':
      return textOf(text);
    case 'thinking':
      return textOf(thinking);
    case 'document':
      return textOf(title) + textOf(context) + documentText(source, depth);
    default:
      // Calls of tools and their results, also of the provider's own tools.
      return textOf(name) + (isFields(input) ? JSON.stringify(input) : '') + contentText(content, depth + 1);
  }
}

function documentText(source: unknown, depth: number): string {
  const { type, data, content } = Object(source) as Fields;
  if (type === 'text') return textOf(data);
  return type === 'content' ? contentText(content, depth + 1) : '';
}

/** The texts of a content for a reader: those of its text blocks. */
export function spokenText(content: unknown, separator = ''): string {
  const texts = blocksOf(content).map(({ type, text }) => (type === 'text' ? textOf(text) : ''));
  return texts.filter((text) => text !== '').join(separator);
}

/** Pictures and files in a content: their number, and the bytes of those in the request itself. */
export function attachmentsIn(content: unknown, depth = 0): MessageAttachments {
  const totals = { count: 0, bytes: 0, linked: 0 };
  if (depth > maxDepth) return totals;
  for (const { type, source, content: inner } of blocksOf(content)) {
    if (type === 'image' || type === 'document') {
      const { type: kind, data, media_type: mediaType } = Object(source) as Fields;
      // A document in plain text is read as text.
      if (kind === 'text' || (kind === 'base64' && isText(textOf(mediaType)))) continue;
      totals.count += 1;
      totals.linked += kind === 'base64' || kind === 'file' ? 0 : 1;
      totals.bytes += kind === 'base64' ? textOf(data).length : 0;
    }
    const within = attachmentsIn(inner ?? (Object(source) as Fields)['content'], depth + 1);
    totals.count += within.count;
    totals.bytes += within.bytes;
    totals.linked += within.linked;
  }
  return totals;
}
