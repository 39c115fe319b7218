import { shortened } from '@gatehouse/events/cut-text';
import { isFields } from '@gatehouse/kit/fields';

/** Deeper values are left out. */
const maxDepth = 64;
/** Further values of one part are left out: so many take 15 ms. */
const maxValues = 50_000;
/** A longer text is cut. */
const longChars = 512 * 1024;
/** A list of more numbers is a vector or a text as tokens. */
const maxNumbers = 64;
/** Texts of values that are too large as a whole are cut to it. */
const cutChars = 4_096;

const secretNames =
  /^(authorization|authorization_token|proxy-authorization|cookie|set-cookie|(x-)?(goog-)?api[-_]?key|access_token|refresh_token|client_secret|password)$/i;
const headerNames = /^(extra_)?headers$/i;
const removed = '[removed]';

/** The text of a Gatehouse key. */
const keyTexts = /gwk_[0-9A-Za-z]{16}_[0-9A-Za-z_-]{43}/g;

/** A file in a text. */
const dataUrl = /^data:([^;,]{0,200})[^,]{0,200},/;
/** Members with a file in base64, beside its type. */
const fileNames = new Set(['data', 'file_data', 'b64_json', 'partial_image_b64']);
const typeNames = ['media_type', 'mimeType', 'mime_type', 'format'];
/** Shorter texts are no files. */
const fileChars = 256;

/**
 * A parsed value as it is stored: without keys, cookies and headers with secrets; files and long lists of numbers are
 * replaced by their type and size. `isCut` is set if something is left out since it is too large or too deep.
 */
export class StorableValue {
  isCut = false;
  #values = 0;

  convert(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (isVector(value)) return `[${value.length} numbers]`;
    this.#values += Array.isArray(value) ? value.length : Object.keys(value).length;
    if (depth === maxDepth || this.#values > maxValues) {
      this.isCut = true;
      return null;
    }
    if (Array.isArray(value)) return value.map((item) => this.convert(item, depth + 1));
    return this.#object(value as Record<string, unknown>, depth);
  }

  #text(value: string): string {
    const text = storableText(value);
    if (text.length <= longChars) return text;
    this.isCut = true;
    return cut(text);
  }

  #object(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
    const entries = Object.entries(fields).map(([name, value]): [string, unknown] => {
      if (typeof value === 'string') {
        if (secretNames.test(name)) return [name, removed];
        if (isFile(name, value, fields)) return [name, fileOf(value, typeIn(fields))];
      } else if (headerNames.test(name) && isFields(value) && !isSchema(value))
        return [name, withoutValues(value)];
      return [name, this.convert(value, depth + 1)];
    });
    // A member `__proto__` stays a member.
    return Object.fromEntries(entries);
  }
}

function isVector(value: object): value is number[] {
  return Array.isArray(value) && value.length > maxNumbers && value.every((item) => typeof item === 'number');
}

/** A value with its long texts cut. */
export function withCutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (Array.isArray(value)) return value.map(withCutTexts);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withCutTexts(item)]));
}

function cut(text: string): string {
  return shortened(text, cutChars);
}

/** A text without keys of the gateway; that of a file is its type and size. */
export function storableText(text: string): string {
  if (text.length > fileChars && text.startsWith('data:')) {
    const [head, type = ''] = dataUrl.exec(text) ?? [];
    if (head !== undefined) return fileOf(text.slice(head.length), type);
  }
  return text.includes('gwk_') ? text.replace(keyTexts, removed) : text;
}

function isFile(name: string, value: string, fields: Record<string, unknown>): boolean {
  if (value.length <= fileChars || value.startsWith('data:')) return false;
  if (name === 'result') return fields['type'] === 'image_generation_call';
  return fileNames.has(name) && (name !== 'data' || typeIn(fields) !== '');
}

function typeIn(fields: Record<string, unknown>): string {
  const type = typeNames.map((name) => fields[name]).find((value) => typeof value === 'string');
  return type ?? '';
}

/** In base64, four characters are three bytes. */
function fileOf(base64: string, type: string): string {
  const kind = type === '' ? 'file' : type.slice(0, 100);
  return `[${kind}, ${Math.floor((base64.length * 3) / 4)} bytes]`;
}

/** A schema of a parameter with such a name. */
function isSchema({ type }: Record<string, unknown>): boolean {
  return type === 'object';
}

function withoutValues(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? removed : value]),
  );
}
