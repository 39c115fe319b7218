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
  ...{ mov: 'video/quicktime', webm: 'video/webm', mpeg: 'video/mpeg' },
};

const unknownType = 'application/octet-stream';

/** Whether base64 begins with `%PDF-`. */
function isPdf(data: string): boolean {
  return data.startsWith('JVBERi');
}

export function typeByName(name: string): string | undefined {
  const [, ending = ''] = /\.([a-z0-9]{2,5})$/i.exec(name.slice(-maxTypeChars)) ?? [];
  const known = ending.toLowerCase();
  return Object.hasOwn(fileTypes, known) ? fileTypes[known] : undefined;
}

/** The beginning of a `data:` address in Base64 (RFC 2397), and the type in it, which may have parameters; null for other texts. */
export function dataAddress(text: string): { begin: string; type: string } | null {
  const [begin, type = ''] = /^data:([^,]*?);base64,/i.exec(text.slice(0, maxTypeChars)) ?? [];
  return begin === undefined ? null : { begin, type };
}

/** The media type of a client's file, with or without `data:` before it; without, that of its name. */
export function typeOfFile(data: string, name: string | null): string {
  const [type = ''] = dataAddress(data)?.type.split(';') ?? [];
  if (type !== '') return type.trim().toLowerCase();
  return typeByName(name ?? '') ?? (isPdf(data) ? fileTypes['pdf'] : undefined) ?? unknownType;
}

/** Files in plain text are read as text by every model. */
export function isPlainText({ mediaType }: { mediaType: string }): boolean {
  return /^text\/(?!html)|^application\/json$/.test(mediaType);
}

/** Whether models read the text of a file of this type alone, so its bytes bound its tokens. */
export function isText(mediaType: string): boolean {
  return /^text\/|^application\/json$/.test(mediaType);
}

/** The same of a file in a request, with or without `data:` before it. */
export function isTextFile(data: unknown, name: unknown): boolean {
  return typeof data === 'string' && isText(typeOfFile(data, typeof name === 'string' ? name : null));
}
