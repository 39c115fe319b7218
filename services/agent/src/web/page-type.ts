/** The type of a page by its headers. */
export interface PageType {
  kind: 'html' | 'xml' | 'text' | 'other';
  /** Whether browsers read it as XML. */
  isXml: boolean;
  /** The label of its encoding; null if the header names no charset. */
  charset: string | null;
}

/** Bytes by which the standard recognizes a page without a type (MIME Sniffing, 7.1). */
const sniffedBytes = 1_445;
const beginnings =
  /^[\t\n\f\r ]*(?:<!--|<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\t\n\f\r />])/i;
// oxlint-disable-next-line no-control-regex -- the bytes that no text has
const binary = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;
const utf16Mark = /^(?:\xfe\xff|\xff\xfe)/;

/** The type of a page by its header `Content-Type`; without a valid one, by the beginning of the page. */
export function pageTypeOf(header: string | undefined, body: Buffer): PageType {
  const { essence, charset } = mediaTypeOf(header ?? '');
  const kind = essence === '' ? sniffedKind(body.toString('latin1', 0, sniffedBytes)) : kindOf(essence);
  return { kind, isXml: kind === 'xml' || essence === 'application/xhtml+xml', charset };
}

function kindOf(essence: string): PageType['kind'] {
  if (essence === 'text/html' || essence === 'application/xhtml+xml') return 'html';
  if (/^(?:text|application)\/xml$|\+xml$/.test(essence)) return 'xml';
  if (/^text\/|^application\/(?:.+\+)?(?:json|yaml|javascript)$/.test(essence)) return 'text';
  return 'other';
}

function sniffedKind(beginning: string): PageType['kind'] {
  const text = beginning.replace(/^\xef\xbb\xbf/, '');
  if (beginnings.test(text)) return 'html';
  if (/^[\t\n\f\r ]*<\?xml/.test(text)) return 'xml';
  return binary.test(text) && !utf16Mark.test(text) ? 'other' : 'text';
}

interface MediaType {
  /** Empty if the header has no type. */
  essence: string;
  charset: string | null;
}

/** Also with single quotes and spaces, which browsers don't read. */
const charsetParameter = /;\s*charset\s*=\s*["']?([^\s"';]+)/i;
const mediaType = /^\s*([\w!#$&^.+*-]+\/[\w!#$&^.+*-]+)\s*(?:;|$)/;

/**
 * The type in a header, and its charset. The last of several counts, with the charset of those of the same type before
 * it (Fetch standard, "extract a MIME type").
 */
function mediaTypeOf(header: string): MediaType {
  let type: MediaType = { essence: '', charset: null };
  for (const part of header.split(',')) {
    const essence = mediaType.exec(part)?.[1]?.toLowerCase();
    if (essence === undefined || essence === '*/*') continue;
    const [, charset = essence === type.essence ? type.charset : null] = charsetParameter.exec(part) ?? [];
    type = { essence, charset };
  }
  return type;
}
