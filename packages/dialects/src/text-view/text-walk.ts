import {
  backslash,
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
import { valueEnd } from '../wire/json-members.ts';
import { isKnown, TextPlace, type Reading, type TextRules } from './text-rules.ts';

/** A string, number or name in a document. */
export interface Leaf {
  place: TextPlace;
  /** The member that it is the value of, or its place in a list. */
  member: string | number;
  type: 'string' | 'number' | 'name';
  /** The place of its source text, with quotes. */
  from: number;
  until: number;
}

/** A value that is true for the texts of the object around it as they are: it repeats or signs them. */
export interface Repeat {
  around: TextPlace;
  from: number;
  until: number;
  /** The value once one of the texts changes, as JSON. */
  replacement: string;
}

/** So many values and names are passed in a step, or about so many bytes, which takes a few milliseconds. */
const passedInStep = 8_192;
const passedBytes = 1024 * 1024;

/** Beginnings of strings that decide how others are read: so much of their source, and the members that have them. */
const signBytes = 256;
const signatures: ReadonlySet<string> = new Set(['signature', 'encrypted_content', 'thoughtSignature']);
const signs: ReadonlySet<string> = new Set([
  ...['type', 'role', 'media_type', 'mimeType', 'filename', 'displayName', 'thought'],
  ...[...signatures, 'server_label'],
  ...['index', 'output_index', 'content_index', 'summary_index', 'command_index', 'partIndex'],
  ...['finish_reason', 'finishReason'],
]);

/** Names of files decide by their ends, which have so many characters with the dot. */
const fileNames: ReadonlySet<string> = new Set(['filename', 'displayName']);
const endChars = 6;

/** Whether other values are read by the value of a member. */
export function isSign(name: string): boolean {
  return signs.has(name);
}

/** A walk over valid JSON, which finds what may be text. Each byte is passed once, however deep it stands. */
export class TextWalk {
  readonly leaves: Leaf[] = [];
  /** Elements of the conversation. */
  readonly elements: TextPlace[] = [];
  /** Objects where the members have rules, and lists of numbers. */
  readonly places: TextPlace[] = [];
  readonly repeats: Repeat[] = [];
  /** Objects and lists so far. */
  opened = 0;
  /** Numbers of the names in `offsets`. */
  readonly offsets: Leaf[] = [];
  readonly #offsetNames: ReadonlySet<string> | undefined;
  readonly #json: Buffer;
  readonly #rules: TextRules;
  #at: number;
  #place: TextPlace;
  /** The name of the next value in an object. */
  #name: string | null = null;

  /** `around`: the place of the document. */
  constructor(json: Buffer, rules: TextRules, around: TextPlace, at = 0) {
    this.#json = json;
    this.#rules = rules;
    this.#offsetNames = rules.citations?.offsets;
    this.#at = at;
    this.#place = around;
  }

  /** Goes on for a few milliseconds. Returns whether it is at the end. */
  step(): boolean {
    const json = this.#json;
    const end = this.#at + passedBytes;
    for (let passed = 0; passed < passedInStep && this.#at < end; passed += 1) {
      const at = skipSpace(json, this.#at);
      const byte = json[at];
      if (byte === undefined) return true;
      if (byte === comma || byte === colon) this.#at = at + 1;
      else if (byte === closeBrace || byte === closeBracket) this.#close(at);
      else if (byte === openBrace || byte === openBracket) this.#open(at, byte === openBracket);
      else if (byte === quote) this.#addString(at);
      else this.#addBare(at);
    }
    return false;
  }

  #close(at: number): void {
    const { parent, reading } = this.#place;
    const repeat = this.repeats.at(-1);
    if (reading === 'repeat' && parent?.reading !== 'repeat' && repeat !== undefined) repeat.until = at + 1;
    this.#place = this.#place.parent ?? this.#place;
    this.#at = at + 1;
  }

  #open(at: number, isList: boolean): void {
    const { index, name } = this.#next();
    const parent = this.#place;
    const reading = readingInside(parent, name, this.#rules);
    const place = new TextPlace(parent, { name, index, isList, reading });
    this.opened += 1;
    if (!isList && this.#isElement(place)) {
      place.element = place;
      this.elements.push(place);
    }
    if (!isList && reading === null) this.places.push(place);
    if (reading === 'repeat' && parent.reading !== 'repeat')
      this.repeats.push({ around: parent, from: at, until: at, replacement: this.#rules.unrepeated });
    this.#place = place;
    this.#at = at + 1;
  }

  #addString(at: number): void {
    const place = this.#place;
    const until = textEnd(this.#json, at) + 1;
    this.#at = until;
    if (!place.isList && place.parent !== null && this.#name === null) {
      const name = decoded(this.#json, at, until);
      this.#name = this.#rules.spelled?.(name) ?? name;
      if (isRead(place, this.#name, this.#rules))
        this.leaves.push({ place, member: '', type: 'name', from: at, until });
      return;
    }
    const { index, name } = this.#next();
    if (place.reading === 'identity' || place.reading === 'repeat') return;
    if (this.#isSign(name)) place.note(name, signIn(this.#json, { name, from: at, until }));
    this.leaves.push({ place, member: index < 0 ? name : index, type: 'string', from: at, until });
  }

  #addBare(at: number): void {
    const until = valueEnd(this.#json, at);
    const { index, name } = this.#next();
    // A byte out of place in JSON is passed, too.
    this.#at = Math.max(until, at + 1);
    const place = this.#place;
    // Without quotes it is no signature, though a word such as null looks like one.
    if (this.#isSign(name))
      place.note(
        name,
        signatures.has(name) ? '' : this.#json.toString('latin1', at, Math.min(until, at + signBytes)),
      );
    if ((this.#json[at] ?? 0) > nine) return;
    if (this.#offsetNames?.has(name) === true && place.reading === null)
      this.offsets.push({ place, member: name, type: 'number', from: at, until });
    if (place.reading === 'values' || (place.reading === 'schema' && !isSize(place, name)))
      this.leaves.push({ place, member: index < 0 ? name : index, type: 'number', from: at, until });
    else if (place.reading === null && place.isList && !place.hasNumbers) {
      place.hasNumbers = true;
      this.places.push(place);
    }
  }

  #isElement(place: TextPlace): boolean {
    const { memberName, owner } = place;
    return memberName === this.#rules.list && owner?.parent?.parent === null;
  }

  /** The name or the place of the next value. */
  #next(): { index: number; name: string } {
    const place = this.#place;
    const name = this.#name ?? '';
    this.#name = null;
    if (!place.isList) return { index: -1, name };
    place.length += 1;
    return { index: place.length - 1, name: '' };
  }

  #isSign(name: string): boolean {
    return signs.has(name) && this.#place.reading === null;
  }
}

/** The part of a string that decides: the beginning, or the end of the name of a file. */
function signIn(
  json: Buffer,
  { name, from, until }: Pick<Leaf, 'from' | 'until'> & { name: string },
): string {
  if (fileNames.has(name)) return decoded(json, from, until).slice(-endChars);
  if (until - from <= signBytes) return decoded(json, from, until);
  const [whole = ''] = wholeUnits.exec(json.toString('utf8', from, from + signBytes)) ?? [];
  return JSON.parse(`${whole}"`) as string;
}

/** The beginning of a string without a divided escape. */
const wholeUnits = /^"(?:[^\\]|\\u[\da-f]{4}|\\[^u])*/i;

const nine = 0x39;

/** The reading of everything in an object or list; null where each member has its rule. */
function readingInside(parent: TextPlace, name: string, rules: TextRules): Reading | null {
  if (parent.reading !== null || parent.isList) return parent.reading;
  const reading = readingOf(parent, name, rules);
  if (reading === 'json') return 'values';
  return wholeReadings.has(reading) ? reading : null;
}

/** Readings of everything inside of an object or a list. */
const wholeReadings: ReadonlySet<Reading> = new Set(['identity', 'repeat', 'values', 'schema']);

/** The rule of a member in a place without a reading for everything in it. */
export function readingOf(place: TextPlace, name: string, { members }: TextRules): Reading {
  const rule = Object.hasOwn(members, name) ? members[name] : undefined;
  if (rule === undefined) return id.test(name) ? 'word' : 'text';
  return typeof rule === 'function' ? rule(place) : rule;
}

/** Names of ids, in both spellings. */
const id = /(?:^i|_i|I)ds?$/;

/** Whether the name of a member may be a text: the API doesn't have it. */
function isRead({ reading }: TextPlace, name: string, rules: TextRules): boolean {
  if (reading === 'identity' || reading === 'repeat') return false;
  if (reading === 'schema') return !schemaWords.has(name);
  return reading === 'values' || !isKnown(name, rules);
}

/** https://json-schema.org/draft/2020-12/schema, and what Google adds */
const schemaWords: ReadonlySet<string> = new Set([
  ...['$schema', '$ref', '$defs', '$id', '$comment', 'definitions', 'type', 'format', 'pattern', 'title'],
  ...['description', 'default', 'example', 'examples', 'enum', 'const', 'required', 'nullable'],
  ...['properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'propertyOrdering'],
  ...['items', 'prefixItems', 'additionalItems', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'contentEncoding'],
]);

/** Whether a number in a schema bounds a value: it is none itself. */
function isSize(place: TextPlace, name: string): boolean {
  return schemaSizes.has(place.isList ? place.memberName : name);
}

const schemaSizes: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'],
]);

/** The value of a string in a document. */
export function decoded(json: Buffer, from: number, until: number): string {
  const text = json.subarray(from, until);
  if (text.includes(backslash)) return JSON.parse(text.toString()) as string;
  return text.toString('utf8', 1, text.length - 1);
}
