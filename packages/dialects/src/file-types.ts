/** Longer than any media type. */
const maxTypeChars = 200;

const openXml = 'application/vnd.openxmlformats-officedocument';

/** Media types by the endings of names. The first ending of a type names files without a name. */
export const fileTypes: Readonly<Record<string, string>> = {
  ...{ pdf: 'application/pdf', txt: 'text/plain', csv: 'text/csv', md: 'text/markdown', html: 'text/html' },
  ...{ json: 'application/json', xml: 'text/xml', rtf: 'application/rtf', doc: 'application/msword' },
  ...{ docx: `${openXml}.wordprocessingml.document`, xlsx: `${openXml}.spreadsheetml.sheet` },
  ...{ pptx: `${openXml}.presentationml.presentation`, xls: 'application/vnd.ms-excel' },
  ...{ ppt: 'application/vnd.ms-powerpoint', epub: 'application/epub+zip', zip: 'application/zip' },
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' },
  ...{ heic: 'image/heic', heif: 'image/heif', mp3: 'audio/mpeg', wav: 'audio/wav', mp4: 'video/mp4' },
  ...{ mov: 'video/quicktime', webm: 'video/webm', mpeg: 'video/mpeg', svg: 'image/svg+xml' },
  ...{ yaml: 'application/yaml', yml: 'application/yaml', jsonl: 'application/x-ndjson' },
  ...{ js: 'text/javascript', log: 'text/plain' },
};

export const unknownType = 'application/octet-stream';

/** Other names of types, which the APIs of models refuse. */
const aliases: Readonly<Record<string, string>> = {
  ...{ 'image/jpg': 'image/jpeg', 'image/pjpeg': 'image/jpeg', 'image/jfif': 'image/jpeg' },
  ...{ 'image/x-png': 'image/png', 'image/x-ms-bmp': 'image/bmp', 'image/x-bmp': 'image/bmp' },
  ...{ 'audio/x-wav': 'audio/wav', 'audio/wave': 'audio/wav', 'audio/vnd.wave': 'audio/wav' },
  ...{ 'application/x-pdf': 'application/pdf', 'text/pdf': 'application/pdf' },
};

/**
 * The first bytes of files by their types, in Latin-1; a dot stands for any byte.
 * https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern
 */
const signatures: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBPVP/s, 'image/webp'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^.{4}ftypavi[fs]/s, 'image/avif'],
  [/^.{4}ftyp(?:hei[cxms]|hev[cxms])/s, 'image/heic'],
  [/^.{4}ftypmif1/s, 'image/heif'],
  [/^%PDF-/, 'application/pdf'],
  [/^(?:II\*|MM.\*)/s, 'image/tiff'],
];

/** Characters of base64 with the first bytes of a file, and some white space. */
const headChars = 64;

/** The type of a file by its first bytes; null for one without a known signature. `data`: base64 in either alphabet. */
export function typeByBytes(data: string): string | null {
  const head = Buffer.from(data.slice(0, headChars), 'base64').toString('latin1');
  return signatures.find(([signature]) => signature.test(head))?.[1] ?? null;
}

export function typeByName(name: string): string | undefined {
  const [, ending = ''] = /\.([a-z0-9]{2,5})$/i.exec(name.slice(-maxTypeChars)) ?? [];
  const known = ending.toLowerCase();
  return Object.hasOwn(fileTypes, known) ? fileTypes[known] : undefined;
}

/** The beginning of a `data:` address (RFC 2397), before its data. */
interface DataAddress {
  begin: string;
  /** May have parameters. */
  type: string;
  /** Else the data are percent-encoded. */
  isBase64: boolean;
}

/** The beginning of a text as a `data:` address; null for other texts, and for a beginning of more than `maxChars`. */
export function dataAddress(text: string, maxChars = maxTypeChars): DataAddress | null {
  const [begin, head = ''] = /^\s*data:([^,]*),/i.exec(text.slice(0, maxChars)) ?? [];
  if (begin === undefined) return null;
  const type = head.replace(/;\s*base64\s*$/i, '');
  return { begin, type, isBase64: type.length < head.length };
}

const percent = 0x25;

/** The bytes of percent-encoded data; signs without two digits stay (https://url.spec.whatwg.org/#percent-decode). */
export function percentDecoded(text: string): Buffer {
  const source = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < source.length; length += 1) {
    const digits = source[at] === percent ? source.toString('latin1', at + 1, at + 3) : '';
    const isEscape = /^[\da-f]{2}$/i.test(digits);
    source[length] = isEscape ? Number.parseInt(digits, 16) : (source[at] ?? 0);
    at += isEscape ? 3 : 1;
  }
  return source.subarray(0, length);
}

/** The charset in a media type, in lower case; undefined without one. */
export function charsetOf(type: string): string | undefined {
  return type
    .split(';')
    .map((part) => part.trim().toLowerCase())
    .find((each) => each.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
}

/** A media type by its usual name, without parameters. */
export function usualType(type: string): string {
  const [stated = ''] = type.split(';');
  const plain = stated.trim().toLowerCase();
  return aliases[plain] ?? plain;
}

/**
 * The media type of base64: by its first bytes, else as the client says, else by the name of the file. `type`: may have
 * parameters.
 */
export function typeOfData(data: string, type: string, name: string | null): string {
  const usual = usualType(type);
  const byName = usual === '' || usual === unknownType ? typeByName(name ?? '') : usual;
  return typeByBytes(data) ?? byName ?? unknownType;
}

/** The media type of a client's file, with or without `data:` before it. */
function typeOfFile(data: string, name: string | null): string {
  const address = dataAddress(data);
  return typeOfData(data.slice(address?.begin.length ?? 0), address?.type ?? '', name);
}

/** Whether models read the text of a file of this type alone, so its bytes bound its tokens. */
export function isText(mediaType: string): boolean {
  return /^text\/|^application\/(?:(?:x-)?(?:yaml|ndjson|javascript|sh)|jsonl?|xml|sql|toml)$|\+(?:json|xml|yaml)$/.test(
    mediaType,
  );
}

/** The same of a file in a request, with or without `data:` before it. */
export function isTextFile(data: unknown, name: unknown): boolean {
  return typeof data === 'string' && isText(typeOfFile(data, typeof name === 'string' ? name : null));
}

/** Whether the data of an attachment is an address, where another content may be next time. Base64 has no colon. */
export function isAddress(data: unknown): boolean {
  return typeof data === 'string' && data.includes(':') && !/^data:/i.test(data);
}
