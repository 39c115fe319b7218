import { randomBytes } from 'node:crypto';
import { backslash, colon, escapeBytes, indexOrEnd, skipSpace } from './json-bytes.ts';
import type { TextPlace } from './json-scan.ts';
import type { Steps } from './cooperative-steps.ts';

/** A part of a text, which is parsed without a trace in old memory. */
const partBytes = 32 * 1024;
const quotes = Buffer.from('"');

/** Both may throw. */
export interface JsonReader {
  decode(json: Buffer): string;
  parse(text: string): unknown;
}

/**
 * Parses JSON with its long texts apart, so they are in memory once beside its bytes: `JSON.parse` alone needs all of
 * the JSON as a text, too, of twice as many bytes if one character is outside of Latin-1. `reader`: of the rest, and of
 * small parts.
 */
export function* parsedByTexts(
  json: Buffer,
  longTexts: readonly TextPlace[],
  reader: JsonReader,
): Steps<unknown> {
  const mark = `\0${randomBytes(8).toString('hex')}:`;
  const copies: Buffer[] = [];
  const texts: string[] = [];
  let from = 0;
  for (const text of longTexts) {
    if (json[skipSpace(json, text.until + 1)] === colon) continue;
    const marked = JSON.stringify(`${mark}${texts.length}`);
    copies.push(json.subarray(from, text.from), Buffer.from(marked));
    texts.push(yield* longText(json, text, reader));
    from = text.until + 1;
    yield;
  }
  copies.push(json.subarray(from));
  const rest = reader.decode(Buffer.concat(copies));
  yield;
  const value = reader.parse(rest);
  if (texts.length === 0) return value;
  yield;
  return withTexts(value, (text) => (text.startsWith(mark) ? texts[Number(text.slice(mark.length))] : text));
}

function* longText(json: Buffer, text: TextPlace, reader: JsonReader): Steps<string> {
  // Joined here, so the pieces and their UTF-8 are garbage once the text is there.
  return (yield* textPieces(json, text, reader)).join('');
}

/** A text as one piece. A part with half of a surrogate pair, which UTF-8 can't hold, is a piece of its own. */
function* textPieces(json: Buffer, { from, until }: TextPlace, reader: JsonReader): Steps<string[]> {
  const bytes =
    indexOrEnd(json.subarray(from, until), backslash, 0) === until - from
      ? null
      : Buffer.allocUnsafeSlow(until - from);
  const pieces: string[] = [];
  let written = 0;
  let at = from + 1;
  for (const end of partEnds(json, { from, until })) {
    const part = reader.parse(
      reader.decode(Buffer.concat([quotes, json.subarray(at, end), quotes])),
    ) as string;
    at = end;
    if (bytes !== null && part.isWellFormed()) written += bytes.write(part, written);
    else if (bytes !== null) {
      pieces.push(bytes.toString('utf8', 0, written), part);
      written = 0;
    }
    yield;
  }
  if (bytes === null) return [json.toString('utf8', from + 1, until)];
  pieces.push(bytes.toString('utf8', 0, written));
  yield;
  return pieces;
}

/** The ends of a text's parts, each between two characters. */
function* partEnds(json: Buffer, { from, until }: TextPlace): Generator<number, void> {
  const text = json.subarray(0, until);
  let slash = from;
  for (let at = from + 1; at < until;) {
    const least = Math.min(until, at + partBytes);
    while (at < least) {
      if (slash < at) slash = indexOrEnd(text, backslash, at);
      at = slash < least ? slash + escapeBytes(json, slash) : least;
    }
    // Bytes outside UTF-8 may be inside without an end.
    for (let more = 0; more < 3 && isInside(json[at]); more += 1) at += 1;
    yield Math.min(at, until);
  }
}

function isInside(byte = 0): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** Puts texts into a parsed value. */
function withTexts(value: unknown, textOf: (text: string) => string | undefined): unknown {
  if (typeof value === 'string') return textOf(value);
  if (typeof value !== 'object' || value === null) return value;
  const put = (members: Record<number | string, unknown>, name: number | string): void => {
    const before = members[name];
    const after = withTexts(before, textOf);
    if (after !== before) members[name] = after;
  };
  const members = value as Record<number | string, unknown>;
  if (Array.isArray(value)) for (let index = 0; index < value.length; index += 1) put(members, index);
  else for (const name of Object.keys(value)) put(members, name);
  return value;
}
