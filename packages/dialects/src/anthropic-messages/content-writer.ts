import { smallBytes } from '@gatehouse/kit/json-bytes';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { JsonScan, parsedAtOnce } from '@gatehouse/kit/json-scan';
import { argumentsObject } from '../tool-arguments.ts';
import type {
  CallPart,
  MediaPart,
  MediaSource,
  Part,
  ResultPart,
  TextPart,
} from '../translation/conversation.ts';
import { DeferredText, RawJson, writeJson } from '../wire/json-text.ts';
import { cacheHint, type CachePoints } from '../translation/cache-points.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { unplacedMedia } from '../translation/hosted-history.ts';
import { plainText, typeOf } from '../translation/media.ts';
import { isText } from '../file-types.ts';
import { parsedBytes } from '../bounds.ts';

/** The blocks of a part, the last of which ends what is cached where the part has a point. */
export function blocksOf(part: Part, points: CachePoints, dropped: DroppedFields): Fields[] {
  const blocks = blockOf(part, dropped);
  const last = blocks.at(-1);
  if (last === undefined || !('cacheTtl' in part)) return blocks;
  return [...blocks.slice(0, -1), { ...last, ...cacheControl(points.behind(part)) }];
}

/** The member of a block or a tool for the life of its point. */
export function cacheControl(ttl: '5m' | '1h' | null): Fields {
  return ttl === null ? {} : { [cacheHint]: { type: 'ephemeral', ...(ttl === '1h' && { ttl }) } };
}

/** Other providers' thoughts have no block. */
function blockOf(part: Part, dropped: DroppedFields): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return [textBlock(part.text)];
    case 'thinking': {
      const { text, signature } = part;
      if (signature?.origin !== 'anthropic') return [];
      return signature.isRedacted
        ? [{ type: 'redacted_thinking', data: signature.text }]
        : [{ type: 'thinking', thinking: text, signature: signature.text }];
    }
    case 'call':
      return [{ type: 'tool_use', id: part.id, name: part.name, input: deferredInput(part) }];
    case 'result':
      return [resultBlock(part, dropped)];
    default:
      return [mediaBlock(part, dropped)];
  }
}

function textBlock(text: string): Fields {
  return { type: 'text', text };
}

/** Arguments other than an object stay as a text in one. */
export function inputOf(argumentsText: string): RawJson {
  return new RawJson(argumentsObject(argumentsText) ?? writeJson({ arguments: argumentsText }));
}

/** The same for a request: throws a 400 for arguments with a reading time over 50 ms. */
export function deferredInput({ id, argumentsText }: CallPart): DeferredText {
  const parsed = new DeferredText(() => inputOf(argumentsText));
  return new DeferredText(() => {
    if (argumentsText.length <= smallBytes) return inputOf(argumentsText);
    if (argumentsText.length > parsedBytes || JsonScan.exceeds(Buffer.from(argumentsText), parsedAtOnce))
      throw new AppError('invalid_value', `The arguments of the call ${id} are too much JSON to be read.`);
    return parsed;
  });
}

function resultBlock({ callId, parts, isError }: ResultPart, dropped: DroppedFields): Fields {
  const content = parts.map((part) => plainBlock(part, dropped));
  return {
    ...{ type: 'tool_result', tool_use_id: callId },
    ...(content.length > 0 && { content }),
    ...(isError && { is_error: true }),
  };
}

function plainBlock(part: TextPart | MediaPart, dropped: DroppedFields): Fields {
  return part.kind === 'text' ? textBlock(part.text) : mediaBlock(part, dropped);
}

function mediaBlock(part: MediaPart, dropped: DroppedFields): Fields {
  const { kind, source, name } = part;
  if (kind === 'image') {
    if (!('url' in source) && !imageTypes.has(source.mediaType))
      return plainBlock(unplacedMedia(part, dropped, 'The model takes PNG, JPEG, GIF and WebP.'), dropped);
    return { type: 'image', source: writeSource(source) };
  }
  if (kind === 'audio')
    return plainBlock(unplacedMedia(part, dropped, "Audio input isn't supported."), dropped);
  const document = { type: 'document', ...(name !== null && { title: name }) };
  const type = typeOf(part);
  // An address without a visible type counts as one of a PDF.
  if (type === pdf || (type === null && 'url' in source)) return { ...document, source: writeSource(source) };
  if ('url' in source || !isText(source.mediaType))
    return plainBlock(unplacedMedia(part, dropped, 'The model reads PDF and plain text only.'), dropped);
  const data = new DeferredText(() => plainText(source));
  return { ...document, source: { type: 'text', media_type: 'text/plain', data } };
}

const pdf = 'application/pdf';
/** https://platform.claude.com/docs/en/build-with-claude/vision */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

function writeSource(source: MediaSource): Fields {
  return 'url' in source
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.data };
}
