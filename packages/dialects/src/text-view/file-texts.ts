import { isUtf8 } from 'node:buffer';
import {
  charsetOf,
  dataAddress,
  isAddress,
  isText,
  percentDecoded,
  typeByBytes,
  typeByName,
  unknownType,
  usualType,
} from '../file-types.ts';

/** A file of a request: its data with or without `data:` before it, or an address, and all that the request says of it. */
interface StatedFile {
  source: string;
  types: readonly string[];
  names: readonly string[];
}

/** The text of a file. */
interface FileText {
  value: string;
  /** Whether a change of it can't be written back in its charset. */
  isFixed: boolean;
}

/**
 * The texts of a file: one in each charset stated for it. The list is empty if nothing states a text, unless the type is unknown
 * and the bytes are UTF-8. `isUnreadable`: whether it also has something other than text.
 */
export function textsOfFile({ source, types, names }: StatedFile): {
  texts: readonly FileText[];
  isUnreadable: boolean;
} {
  const address = dataAddress(source, Infinity);
  if (address === null && isAddress(source)) return { texts: [], isUnreadable: true };
  const data = source.slice(address?.begin.length ?? 0);
  const isBase64 = address?.isBase64 !== false;
  const stated = types.concat(address === null ? [] : typeIn(address));
  const kinds = new Set([...stated.map(usualType), ...names.map((name) => typeByName(name) ?? '')]);
  const isStated = [...kinds].some(isText);
  const signature = isBase64 ? typeByBytes(data) : null;
  const isUnknown = signature === null && [...kinds].every((kind) => unknownTypes.has(kind));
  if (!isStated && !isUnknown) return { texts: [], isUnreadable: true };
  const bytes = bytesOf(data, isBase64);
  if (!isStated && (!isUtf8(bytes) || bytes.includes(0))) return { texts: [], isUnreadable: true };
  const charsets = charsetsOf(bytes, stated);
  const values = new Set([...charsets].slice(0, maxCharsets).map((charset) => decodedAs(charset, bytes)));
  const texts = [...values].map((value) => ({
    value,
    isFixed: values.size > 1 || !isWritable(value, bytes),
  }));
  return { texts, isUnreadable: signature !== null || charsets.size > maxCharsets };
}

/** The source with another text, in UTF-8. */
export function sourceWithText(source: string, text: string): string {
  const address = dataAddress(source, Infinity);
  const isBase64 = address?.isBase64 !== false;
  return (
    (address?.begin ?? '') +
    (isBase64 ? Buffer.from(text).toString('base64') : encodeURIComponent(text.toWellFormed()))
  );
}

/** Data without a type are plain text; in base64 only beside a charset, since clients omit the types of pictures, too. */
function typeIn({ type, isBase64 }: { type: string; isBase64: boolean }): string {
  return type.startsWith(';') || (type === '' && !isBase64) ? `text/plain${type}` : type;
}

const unknownTypes: ReadonlySet<string> = new Set(['', unknownType]);

function bytesOf(data: string, isBase64: boolean): Buffer {
  if (!isBase64) return percentDecoded(data);
  const base64 = data.includes('%') ? percentDecoded(data).toString('latin1') : data;
  return Buffer.from(base64, 'base64');
}

const utf16Marks = { 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff] } as const;

/** The charsets that a reader of the file may choose: by its first bytes (https://encoding.spec.whatwg.org/#decode), or as stated. */
function charsetsOf(bytes: Buffer, types: readonly string[]): Set<string> {
  const marked = Object.entries(utf16Marks).flatMap(([charset, [first, second]]) =>
    bytes[0] === first && bytes[1] === second ? [charset] : [],
  );
  const stated = types.flatMap((type) => charsetOf(type) ?? []);
  return new Set(marked.length + stated.length === 0 ? ['utf-8'] : [...marked, ...stated]);
}

/** A file is read in so many charsets; beyond them it counts as unreadable, too. */
const maxCharsets = 4;

/** Invalid bytes are replaced: a reader may ignore them. */
function decodedAs(charset: string, bytes: Buffer): string {
  try {
    return new TextDecoder(charset, { ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes.toString();
  }
}

function isWritable(value: string, bytes: Buffer): boolean {
  return isUtf8(bytes) && value === bytes.toString();
}
