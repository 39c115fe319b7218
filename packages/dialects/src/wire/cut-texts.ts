import { randomBytes } from 'node:crypto';
import { backslash, escapeBytes, largeBytes } from '@gatehouse/kit/json-bytes';
import { JsonScan } from '@gatehouse/kit/json-scan';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { Base64Bytes, standardBase64 } from './base64-bytes.ts';
import { Pieces } from './pieces.ts';
import { longTextBytes, pieceBytes, textHeadBytes } from '../bounds.ts';

/** The longest character: a surrogate pair of two escapes. */
const longestChar = 12;

/** Members read or compared as a whole. */
const wholeNames = /(?:id|name|namespace|type|role|model|arguments|definition|signature|encrypted_content)$/i;
/** Arguments of calls, which some clients write as JSON in a text, and may be plain texts elsewhere. */
const argumentNames = new Set(['parameters', 'input', 'args']);
/** The beginning of JSON in a text, or white space alone. */
const jsonStart = /^\s*(?:["[{]|$)/;
/** Addresses, which are cut only if they hold data. */
const addressNames = /ur[il]$/i;

const sign = 'u0000';
const tilde = 0x7e;

/** The marks in a text: the key of a document, the number of a rest, and `b` for one written in standard base64. */
const marks = /~\p{Cc}([\da-f]{16}):(\d+)(b?)~/gu;

/** The documents under way, by what their marks have in common. */
const underWay = new Map<string, CutTexts>();

/**
 * A large JSON document with cut texts: only the beginning of a long text is ever parsed, moved to its place in another
 * document, and written. There a mark behind each beginning says which bytes of the document follow, so the rest of a
 * text is in memory once, as its client sent it. Code in need of a whole text gets it by `uncut`.
 */
export class CutTexts {
  readonly #key: string;
  /** The bytes of a mark. */
  readonly #rests: (readonly Buffer[])[] = [];
  #short: Buffer;

  private constructor(key: string, short: Buffer = Buffer.alloc(0)) {
    this.#key = key;
    this.#short = short;
  }

  /** `json`: valid JSON. Call `close` in the end. */
  static *cut(json: Pieces): Steps<CutTexts> {
    if (json.length <= largeBytes) return new CutTexts('', json.whole);
    const texts = new CutTexts(randomBytes(8).toString('hex'));
    yield* texts.#cut(json);
    underWay.set(texts.#key, texts);
    return texts;
  }

  /** The document with marks. */
  get short(): Buffer {
    return this.#short;
  }

  /** The bytes of all of a text in JSON with marks. */
  static uncut(text: string): string {
    return text.replaceAll(marks, (mark, key: string, index: string, base64: string) => {
      const texts = underWay.get(key);
      if (texts === undefined) return mark;
      const rest = JSON.parse(`"${Buffer.concat(texts.#restOf(Number(index))).toString()}"`) as string;
      return base64 === '' ? rest : standardBase64(rest);
    });
  }

  /**
   * Base64 in the standard alphabet, without white space: Google's SDK for Python sends the other alphabet, and models of
   * other APIs refuse it. Only the beginning of a cut text decides.
   */
  static standardBase64(text: string): string {
    if (!/[-_\s]/.test(text)) return text;
    return standardBase64(text).replace(marks, (_, key: string, index: string) => `~\0${key}:${index}b~`);
  }

  /** All of a member of the document in JSON; null if it has more bytes than `most`. */
  uncutJson(json: string, most: number): string | null {
    if (json.length > most) return null;
    if (this.#rests.length === 0) return json;
    const parts = [...partsOf(Buffer.from(json), this.#key)];
    const all = new Pieces(parts.flatMap((part) => ('mark' in part ? this.#restOf(part.mark) : part.bytes)));
    return all.length > most ? null : all.toString();
  }

  /** A document in JSON with everything its marks stand for. `copied`: bytes not shared with the cut document. */
  *restored(written: Buffer): Steps<{ body: Pieces; copied: number }> {
    if (this.#rests.length === 0) return { body: Pieces.from(written), copied: written.length };
    const all: Buffer[] = [];
    let copied = written.length;
    for (const part of partsOf(written, this.#key)) {
      if ('bytes' in part) {
        all.push(part.bytes);
        continue;
      }
      const base64 = part.isBase64 ? new Base64Bytes() : null;
      for (const rest of this.#restOf(part.mark))
        for (let from = 0; from < rest.length; from += pieceBytes) {
          const bytes = rest.subarray(from, from + pieceBytes);
          const inText = escaped(base64?.standard(bytes) ?? bytes, part.depth);
          if (inText !== bytes) copied += inText.length;
          all.push(inText);
          if (inText !== bytes) yield;
        }
      yield;
    }
    return { body: new Pieces(all), copied };
  }

  close(): void {
    underWay.delete(this.#key);
  }

  *#cut(json: Pieces): Steps<void> {
    const scan = new JsonScan({ longBytes: longTextBytes });
    let place = 0;
    for (const piece of json.all)
      for (let from = 0; from < piece.length; from += pieceBytes) {
        const until = Math.min(piece.length, from + pieceBytes);
        scan.add(piece, from, until, place);
        place += until - from;
        yield;
      }
    const reader = new PieceReader(json);
    const chunks: Buffer[] = [];
    for (const { from, until } of scan.longTexts) {
      chunks.push(...reader.until(from));
      const name = nameBefore(chunks);
      const begin = Buffer.concat(reader.until(from + 1 + textHeadBytes + longestChar));
      const end = headEnd(begin);
      const head = begin.subarray(0, end);
      const rest = [begin.subarray(end), ...reader.until(until)];
      chunks.push(head);
      const isCut =
        name !== null && !isArguments(name, head) && (yield* isCuttable(name, [begin, ...rest.slice(1)]));
      chunks.push(...(isCut ? [this.#markOf(rest)] : rest));
      yield;
    }
    this.#short = Buffer.concat([...chunks, ...reader.until(json.length)]);
  }

  #restOf(mark: number): readonly Buffer[] {
    const rest = this.#rests[mark];
    if (rest === undefined) throw new Error('a mark of a cut text has been changed');
    return rest;
  }

  #markOf(rest: readonly Buffer[]): Buffer {
    return Buffer.from(`~\\${sign}${this.#key}:${this.#rests.push(rest) - 1}~`);
  }
}

/** Reads pieces from the beginning to the end. */
class PieceReader {
  readonly #all: readonly Buffer[];
  #index = 0;
  #from = 0;
  #place = 0;

  constructor({ all }: Pieces) {
    this.#all = all;
  }

  /** The bytes from where the last ones ended. */
  until(place: number): Buffer[] {
    const read: Buffer[] = [];
    for (let piece = this.#all[this.#index]; piece !== undefined && this.#place < place;) {
      const part = piece.subarray(this.#from, this.#from + place - this.#place);
      read.push(part);
      this.#from += part.length;
      this.#place += part.length;
      if (this.#from < piece.length) break;
      this.#from = 0;
      piece = this.#all[(this.#index += 1)];
    }
    return read;
  }
}

/** The member name before the next value; null for an element of an array and for a name. */
function nameBefore(parts: readonly Buffer[]): string | null {
  const end = Buffer.concat(parts.slice(-3).map((part) => part.subarray(-100))).toString('latin1');
  return /"([^"\\]{1,80})"\s*:\s*$/.exec(end)?.[1] ?? null;
}

function* isCuttable(name: string, text: readonly Buffer[]): Steps<boolean> {
  if (wholeNames.test(name) || (yield* isBlank(text))) return false;
  return !addressNames.test(name) || text[0]?.toString('latin1', 1, 6).toLowerCase() === 'data:';
}

/** Whether a text may be the arguments of a call, by its beginning with its quote. */
function isArguments(name: string, head: Buffer): boolean {
  return argumentNames.has(name) && jsonStart.test(JSON.parse(`${head.toString()}"`) as string);
}

/** Whether a text has only what counts as nothing. */
function* isBlank(text: readonly Buffer[]): Steps<boolean> {
  let isEscaped = false;
  for (const [index, part] of text.entries())
    for (let at = index === 0 ? 1 : 0; at < part.length; at += 1) {
      const byte = part[at] ?? 0;
      if (isEscaped ? !blankEscapes.has(byte) : byte !== 0x20 && byte !== backslash) return false;
      isEscaped = !isEscaped && byte === backslash;
      if (at % pieceBytes === 0) yield;
    }
  return true;
}

const blankEscapes = new Set(Buffer.from('nrt'));

/** The end of the last whole character in the first bytes of a text, with its quote. `begin` has the next character as well. */
function headEnd(begin: Buffer): number {
  let end = 1;
  for (let next = 1; next <= 1 + textHeadBytes; next += charBytes(begin, next)) end = next;
  return end;
}

function charBytes(json: Buffer, at: number): number {
  const byte = json[at] ?? 0;
  if (byte === backslash) return escapeBytes(json, at);
  if (byte < 0xc0) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

type Part = { bytes: Buffer } | { mark: number; isBase64: boolean; depth: number };

/** A document's bytes and its marks, in order. `depth`: the number of texts of JSON around the text of a mark. */
function* partsOf(json: Buffer, key: string): Generator<Part, void> {
  const searched = Buffer.from(`${sign}${key}:`);
  let from = 0;
  for (let at = json.indexOf(searched); at >= 0; at = json.indexOf(searched, from)) {
    let slashes = 0;
    while (json[at - 1 - slashes] === backslash) slashes += 1;
    const end = json.indexOf(tilde, at);
    yield { bytes: json.subarray(from, at - slashes - 1) };
    const name = json.toString('latin1', at + searched.length, end);
    yield { mark: Number.parseInt(name, 10), isBase64: name.endsWith('b'), depth: Math.log2(slashes) };
    from = end + 1;
  }
  yield { bytes: json.subarray(from) };
}

/** JSON text in texts of JSON. */
function escaped(json: Buffer, depth: number): Buffer {
  let text = json;
  for (let left = depth; left > 0; left -= 1)
    text = Buffer.from(text.toString('latin1').replaceAll(/["\\]/g, String.raw`\$&`), 'latin1');
  return text;
}
