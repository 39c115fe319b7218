import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { cacheHint } from '../translation/cache-points.ts';

/** Parts of contents of other APIs, as chat has them. */

/** The cache hint of an object, in the member of the same name. */
export function hintOf(value: unknown): Fields {
  const { [cacheHint]: hint } = membersOf(value);
  return hint === undefined ? {} : { [cacheHint]: hint };
}

export function textPart(text: string): Fields {
  return { type: 'text', text };
}

/** A part of a content; those that chat has in this form, and unknown ones, as they are. */
export function partOf(part: unknown): unknown {
  const { type, text, image_url: url, detail, source, [cacheHint]: _hint, ...file } = membersOf(part);
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text, ...hintOf(part) };
    case 'input_image':
      if (typeof url !== 'string')
        return isFields(url) ? { type: 'image_url', image_url: url, ...hintOf(part) } : part;
      return {
        type: 'image_url',
        image_url: { url, ...(detail !== undefined && { detail }) },
        ...hintOf(part),
      };
    case 'input_file':
      return { type: 'file', file, ...hintOf(part) };
    case 'image':
      return { type: 'image_url', image_url: { url: urlOf(membersOf(source)) }, ...hintOf(part) };
    default:
      return part;
  }
}

function urlOf({ url, media_type: mediaType, data }: Fields): unknown {
  return typeof data === 'string' ? `data:${String(mediaType)};base64,${data}` : url;
}

/**
 * A document as a file, or as its texts, whose parts are read by `partsOf`.
 * https://platform.claude.com/docs/en/build-with-claude/citations#document-types
 */
export function documentParts(block: Fields, partsOf: (part: unknown) => unknown[]): unknown[] {
  const { title, context } = block;
  const source = membersOf(block['source']);
  const { type, data, content, file_id: id } = source;
  const textsOf = (...texts: unknown[]): Fields[] =>
    texts.filter((text) => typeof text === 'string' && text !== '').map((text) => textPart(text as string));
  if (type === 'content')
    return hinted([...textsOf(title, context, content), ...listOf(content).flatMap(partsOf)], block);
  if (type === 'text') return hinted(textsOf(title, context, data), block);
  const file = {
    ...(typeof title === 'string' && title !== '' && { filename: title }),
    // An address, too: OpenRouter reads it there (https://openrouter.ai/docs/features/multimodal/pdfs).
    ...(id === undefined ? { file_data: urlOf(source) } : { file_id: id }),
  };
  return hinted([...textsOf(context), { type: 'file', file }], block);
}

/** The parts of a block, with its cache hint on the last one. */
function hinted(parts: unknown[], block: Fields): unknown[] {
  const last = parts.at(-1);
  return isFields(last) ? [...parts.slice(0, -1), { ...last, ...hintOf(block) }] : parts;
}

export function membersOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
