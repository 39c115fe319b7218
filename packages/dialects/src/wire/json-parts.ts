import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  smallBytes,
} from '@gatehouse/kit/json-bytes';
import { JsonScan, parsedAtOnce } from '@gatehouse/kit/json-scan';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { maxMembers, parsedBytes, pieceBytes } from '../bounds.ts';

/** The place of a value in its JSON text. */
export interface Range {
  from: number;
  until: number;
}

const maxNameBytes = 256;

export function wholeOf({ length }: Buffer): Range {
  return { from: 0, until: length };
}

/** Whether a part of a JSON text is parsed within 50 ms. */
export function isParsable(bytes: Buffer, range: Range, tenantId: string | null): boolean | Promise<boolean> {
  const length = range.until - range.from;
  return length <= smallBytes || (length <= parsedBytes && isParsedSoon(bytes, range, tenantId));
}

async function isParsedSoon(
  bytes: Buffer,
  { from, until }: Range,
  tenantId: string | null,
): Promise<boolean> {
  const scan = new JsonScan();
  for (let at = from; at < until; at += pieceBytes) {
    await runCooperatively(tenantId, () => scan.add(bytes, at, Math.min(until, at + pieceBytes)));
    if (scan.exceeds(parsedAtOnce) !== undefined) return false;
  }
  return true;
}

/** The value of such a part, in a turn of the tenant if it is large; undefined unless it is JSON. */
export function parsedPart(bytes: Buffer, { from, until }: Range, tenantId: string | null): unknown {
  const parse = (): unknown => {
    try {
      return JSON.parse(bytes.toString('utf8', from, until));
    } catch {
      return undefined;
    }
  };
  return until - from <= smallBytes ? parse() : runCooperatively(tenantId, parse);
}

/** The members of a JSON object too large for parsing, or null otherwise. The last of equal names counts. */
export async function memberRanges(
  json: Buffer,
  { from, until }: Range,
  tenantId: string | null,
): Promise<ReadonlyMap<string, Range> | null> {
  const scan = await scanned(json, { from, until }, tenantId);
  if (scan === null || json[scan.start] !== openBrace) return null;
  const members = new Map<string, Range>();
  for (const { from, until, nameUntil, colonAt } of scan.parts) {
    if (colonAt < 0 || nameUntil - from > maxNameBytes) continue;
    const name = parsed(json.subarray(from, nameUntil));
    if (typeof name === 'string') members.set(name, { from: colonAt + 1, until });
  }
  return members;
}

/** The values of those members small enough for parsing, by their names. */
export async function smallMembers(
  json: Buffer,
  members: ReadonlyMap<string, Range> | null,
  { names, tenantId }: { names: readonly string[]; tenantId: string | null },
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const range = members?.get(name);
    if (range !== undefined && range.until - range.from <= smallBytes)
      values[name] = await parsedPart(json, range, tenantId);
  }
  return values;
}

/** The elements of a JSON array too large for parsing, at most `max`; null otherwise. */
export async function elementRanges(
  json: Buffer,
  range: Range,
  { tenantId, max }: { tenantId: string | null; max: number },
): Promise<readonly Range[] | null> {
  const scan = await scanned(json, range, tenantId, max);
  return scan === null || json[scan.start] !== openBracket ? null : scan.parts;
}

/** Begins behind the white space before it. */
interface JsonPart extends Range {
  /** The end of a member's name, before the white space behind it. */
  nameUntil: number;
  colonAt: number;
}

/** Finds what lies between the commas of the object or array, in turns of the tenant at the event loop. */
async function scanned(
  json: Buffer,
  { from, until }: Range,
  tenantId: string | null,
  max = maxMembers,
): Promise<{ start: number; parts: readonly JsonPart[] } | null> {
  const scan = new PartScan(max);
  for (let at = from; at < until; at += pieceBytes)
    await runCooperatively(tenantId, () => scan.add(json, at, Math.min(until, at + pieceBytes)));
  return scan.isComplete ? { start: scan.start, parts: scan.parts } : null;
}

class PartScan {
  start = -1;
  readonly parts: JsonPart[] = [];
  readonly #max: number;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #from = 0;
  #nameUntil = 0;
  #colonAt = -1;
  #isEmpty = true;
  #isBroken = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether the value has ended, with nothing behind it. */
  get isComplete(): boolean {
    return this.start >= 0 && this.#depth === 0 && !this.#inText && !this.#isBroken;
  }

  add(json: Buffer, from: number, until: number): void {
    for (let at = from; at < until; at += 1) {
      const byte = json[at] ?? 0;
      if (this.#inText) this.#addInText(byte, at);
      else if (byte > 0x20) this.#addBare(byte, at);
    }
  }

  #addInText(byte: number, at: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#inText = false;
      this.#noteName(at);
    }
  }

  #noteName(at: number): void {
    if (this.#depth === 1 && this.#colonAt < 0) this.#nameUntil = at + 1;
  }

  #addBare(byte: number, at: number): void {
    const isClose = byte === closeBracket || byte === closeBrace;
    if (this.#depth === 0) {
      // One value only.
      if (this.start >= 0 || (byte !== openBrace && byte !== openBracket)) {
        this.#isBroken = true;
        return;
      }
      this.start = at;
      this.#depth = 1;
      this.#from = at + 1;
      return;
    }
    if (this.#depth === 1) {
      if (isClose) {
        if (!this.#isEmpty) this.#endPart(at);
      } else if (byte === comma) this.#endPart(at);
      else {
        if (this.#isEmpty) this.#from = at;
        this.#isEmpty = false;
        if (byte === colon && this.#colonAt < 0) this.#colonAt = at;
        else this.#noteName(at);
      }
    }
    if (byte === quote) this.#inText = true;
    else if (byte === openBrace || byte === openBracket) this.#depth += 1;
    else if (isClose) this.#depth -= 1;
  }

  #endPart(until: number): void {
    if (this.parts.length < this.#max)
      this.parts.push({ from: this.#from, until, nameUntil: this.#nameUntil, colonAt: this.#colonAt });
    this.#from = until + 1;
    this.#colonAt = -1;
    this.#isEmpty = true;
  }
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}
