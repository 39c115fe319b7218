import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
  textEnd,
} from '@gatehouse/kit/json-bytes';

/**
 * The place of a member of a JSON object in its source text. Editing the text itself, instead of parsing and printing
 * it again, keeps everything a parser would lose: big integers, number spelling, lone surrogates, duplicate keys.
 */
export interface Member {
  name: string;
  /** Offset of the opening quote of the name. */
  start: number;
  valueStart: number;
  /** One past the last byte of the value. */
  valueEnd: number;
}

/**
 * Lists the members of the object at or after `from`, and ends at the first beyond `max`. The bytes must be valid JSON
 * (they went through `JSON.parse`), which is why this can be so short.
 */
export function objectMembers(json: Buffer, { from = 0, max = Infinity } = {}): Member[] {
  const members: Member[] = [];
  let at = json.indexOf(openBrace, from) + 1;
  for (;;) {
    at = skipSpace(json, at);
    if (json[at] === comma) {
      at += 1;
      continue;
    }
    if (json[at] !== quote || members.length > max) return members;
    const start = at;
    const nameEnd = textEnd(json, at) + 1;
    const valueStart = skipSpace(json, json.indexOf(colon, nameEnd) + 1);
    const end = valueEnd(json, valueStart);
    members.push({
      name: JSON.parse(json.toString('utf8', start, nameEnd)) as string,
      start,
      valueStart,
      valueEnd: end,
    });
    at = end;
  }
}

/** The number of names in JSON, those of inner objects and repeated ones included. */
export function nameCount(json: Buffer): number {
  let names = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = textEnd(json, at);
    else if (byte === colon) names += 1;
  }
  return names;
}

/** The members of one name: a text may have several. */
export function named(members: readonly Member[], name: string): Member[] {
  return members.filter((member) => member.name === name);
}

/** The start of the element with this index, in the array opening at `from`. The array must have it. */
export function elementStart(json: Buffer, from: number, index: number): number {
  let at = skipSpace(json, from + 1);
  for (let passed = 0; passed < index; passed += 1) {
    const comma = skipSpace(json, valueEnd(json, at));
    at = skipSpace(json, comma + 1);
  }
  return at;
}

/** The starts of the elements of the array opening at `from`. */
export function* elementsOf(json: Buffer, from: number): Generator<number> {
  let at = skipSpace(json, from + 1);
  while (at < json.length && json[at] !== closeBracket) {
    yield at;
    const end = skipSpace(json, valueEnd(json, at));
    at = json[end] === comma ? skipSpace(json, end + 1) : end;
  }
}

/** One past the last byte of the value at a place. */
export function valueEnd(json: Buffer, from: number): number {
  const first = json[from];
  if (first === quote) return textEnd(json, from) + 1;
  if (first !== openBrace && first !== openBracket) {
    let at = from;
    while (at < json.length && !isDelimiter(json[at])) at += 1;
    return at;
  }
  let depth = 0;
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = textEnd(json, at);
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return json.length;
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || byte === undefined || byte <= 0x20;
}
