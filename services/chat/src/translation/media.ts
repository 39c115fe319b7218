import { AppError } from '@gatehouse/kit/errors';
import type { MediaPart, MediaSource } from './conversation.ts';
import { Late } from '../wire/json-text.ts';

/** Longer than any media type. */
const maxTypeChars = 200;

const openXml = 'application/vnd.openxmlformats-officedocument';

/** Media types by the endings of names. The first ending of a type names files without a name. */
const types: Readonly<Record<string, string>> = {
  ...{ pdf: 'application/pdf', txt: 'text/plain', csv: 'text/csv', md: 'text/markdown', html: 'text/html' },
  ...{ json: 'application/json', xml: 'text/xml', rtf: 'application/rtf', doc: 'application/msword' },
  ...{ docx: `${openXml}.wordprocessingml.document`, xlsx: `${openXml}.spreadsheetml.sheet` },
  ...{ pptx: `${openXml}.presentationml.presentation`, xls: 'application/vnd.ms-excel' },
  ...{ ppt: 'application/vnd.ms-powerpoint', epub: 'application/epub+zip', zip: 'application/zip' },
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' },
  ...{ heic: 'image/heic', heif: 'image/heif', mp3: 'audio/mpeg', wav: 'audio/wav', mp4: 'video/mp4' },
  ...{ mov: 'video/quicktime', webm: 'video/webm', mpeg: 'video/mpeg' },
};

/** The source that an address is: `data:` addresses hold the data themselves (RFC 2397). */
export function sourceOf(url: string): MediaSource {
  const [begin, type = ''] = /^data:([^,]*?);base64,/i.exec(url.slice(0, maxTypeChars)) ?? [];
  return begin === undefined ? { url } : dataSource(url.slice(begin.length), type);
}

/** `type`: a media type, which may have parameters. */
export function dataSource(data: string, type: string): MediaSource {
  const [mediaType = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((each) => each.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  return {
    ...{ data, mediaType: mediaType || 'application/octet-stream' },
    ...(charset !== undefined && { charset }),
  };
}

/** The source of a file. Clients send its data with or without `data:` before it; the type is then that of its name. */
export function fileSource(data: string, name: string | null): MediaSource {
  const source = sourceOf(data);
  if (!('url' in source)) return source;
  return {
    data,
    mediaType: typeByName(name ?? '') ?? (isPdf(data) ? types['pdf'] : undefined) ?? unknownType,
  };
}

const unknownType = 'application/octet-stream';

/** Whether base64 begins with `%PDF-`. */
function isPdf(data: string): boolean {
  return data.startsWith('JVBERi');
}

function typeByName(name: string): string | undefined {
  const [, ending = ''] = /\.([a-z0-9]{2,5})$/i.exec(name.slice(-maxTypeChars)) ?? [];
  const known = ending.toLowerCase();
  return Object.hasOwn(types, known) ? types[known] : undefined;
}

/** The media type of a part; null for an address that does not show it. */
export function typeOf({ source, name }: Pick<MediaPart, 'source' | 'name'>): string | null {
  if (!('url' in source)) return source.mediaType;
  if (source.mediaType !== undefined && source.mediaType !== '') return source.mediaType;
  if (/^https?:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//i.test(source.url)) return 'video/mp4';
  const [path = ''] = source.url.split(/[?#]/, 1);
  return typeByName(path) ?? typeByName(name ?? '') ?? null;
}

/** The name of a file, for APIs that need one; null where its type is unknown. */
export function fileName(part: Pick<MediaPart, 'source' | 'name'>): string | null {
  if (part.name !== null && part.name !== '') return part.name;
  const type = typeOf(part);
  const ending = Object.keys(types).find((each) => types[each] === type);
  return ending === undefined ? null : `file.${ending}`;
}

/** Whether a part is of a kind that is no document: APIs without videos would read it as something else. */
export function isFilm(part: Pick<MediaPart, 'source' | 'name'>): boolean {
  return /^(?:video|audio)\//.test(typeOf(part) ?? '');
}

/** Why a file is refused by an API that takes documents. */
export const notDocument = 'The model takes documents of known types only.';

/** The same as an address. */
export function urlOf(source: MediaSource): string {
  return 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Files in plain text are read as text by every model. */
export function isPlainText({ mediaType }: { mediaType: string }): boolean {
  return /^text\/(?!html)|^application\/json$/.test(mediaType);
}

/** Throws `invalid_value` for a text that is not in its charset. */
export function plainText({ data, charset = 'utf-8' }: { data: string; charset?: string }): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch (cause) {
    throw new AppError('invalid_value', `A text file can't be read as ${charset.slice(0, 64)}.`, { cause });
  }
}

/** A file in plain text as a text, behind its name. */
export function namedText(source: { data: string; charset?: string }, name: string | null): Late {
  return new Late(() => (name === null ? '' : `${name}:\n\n`) + plainText(source));
}
