import { AppError } from '@gatehouse/kit/errors';
import type { MediaPart, MediaSource } from './conversation.ts';
import { charsetOf, dataAddress, fileTypes, isText, typeByName, typeOfData } from '../file-types.ts';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { CutTexts } from '../wire/cut-texts.ts';
import { DeferredText } from '../wire/json-text.ts';

/** The source in an address: `data:` addresses hold the data themselves (RFC 2397). */
export function sourceOf(url: string): MediaSource {
  return dataIn(url, null) ?? { url };
}

/**
 * The data of an address; null for other texts. Percent-encoded data are of short addresses, as clients write drawings in
 * text: others stay as they are.
 */
function dataIn(url: string, name: string | null): MediaSource | null {
  const address = dataAddress(url);
  if (address === null) return null;
  const data = url.slice(address.begin.length);
  if (address.isBase64) return dataSource(data, address.type, name);
  // The mark of a cut text has a control character.
  if (url.length > smallBytes || url.includes('\0')) return null;
  try {
    return dataSource(Buffer.from(decodeURIComponent(data)).toString('base64'), address.type, name);
  } catch {
    return null;
  }
}

/** `type`: the client's media type, which may have parameters. `name`: of a file, for data of an unknown type. */
export function dataSource(data: string, type: string, name: string | null = null): MediaSource {
  const charset = charsetOf(type);
  const mediaType = typeOfData(data, type, name);
  return { data: CutTexts.standardBase64(data), mediaType, ...(charset !== undefined && { charset }) };
}

/** The source of a file. Clients send its data with or without `data:` before it, or its address in place of data. */
export function fileSource(data: string, name: string | null): MediaSource {
  if (/^https?:/i.test(data)) return { url: data };
  return dataIn(data, name) ?? dataSource(data, '', name);
}

/** A part of the kind of its data: clients send PDFs as images, images as files, and drawings in text (SVG) as images. */
export function mediaPart(part: Omit<MediaPart, 'kind'>, kind: MediaPart['kind']): MediaPart {
  if (kind === 'audio' || 'url' in part.source) return { kind, ...part };
  const { mediaType } = part.source;
  if (isText(mediaType) || mediaType === fileTypes['pdf']) return { kind: 'file', ...part };
  return { kind: mediaType.startsWith('image/') ? 'image' : kind, ...part };
}

/** The media type of a part; null for an address without a visible type. */
export function typeOf({ source, name }: Pick<MediaPart, 'source' | 'name'>): string | null {
  if (!('url' in source)) return source.mediaType;
  if (source.mediaType !== undefined && source.mediaType !== '') return source.mediaType;
  if (/^https?:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//i.test(source.url)) return 'video/mp4';
  const [path = ''] = source.url.split(/[?#]/, 1);
  return typeByName(path) ?? typeByName(name ?? '') ?? null;
}

/** The name of a file, for APIs in need of one; null where its type is unknown. */
export function fileName(part: Pick<MediaPart, 'source' | 'name'>): string | null {
  if (part.name !== null && part.name !== '') return part.name;
  const type = typeOf(part);
  const ending = Object.keys(fileTypes).find((each) => fileTypes[each] === type);
  return ending === undefined ? null : `file.${ending}`;
}

/** Whether a part is of another kind than a document: APIs without videos would read it as something else. */
export function isAudioOrVideo(part: Pick<MediaPart, 'source' | 'name'>): boolean {
  return /^(?:video|audio)\//.test(typeOf(part) ?? '');
}

/** The reason of an API with documents for refusing a file. */
export const notDocument = 'The model takes documents of known types only.';

/** The same as an address. */
export function urlOf(source: MediaSource): string {
  return 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Throws `invalid_value` for a text with invalid bytes in its charset. */
export function plainText({ data, charset = 'utf-8' }: { data: string; charset?: string }): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(CutTexts.uncut(data), 'base64'));
  } catch (cause) {
    throw new AppError('invalid_value', `A text file can't be read as ${charset.slice(0, 64)}.`, { cause });
  }
}

/** A file in plain text as a text, behind its name. */
export function namedText(source: { data: string; charset?: string }, name: string | null): DeferredText {
  return new DeferredText(() => (name === null ? '' : `${name}:\n\n`) + plainText(source));
}
