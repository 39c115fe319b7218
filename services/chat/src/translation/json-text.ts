import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import { elementsOf, objectMembers } from '../wire/json-members.ts';

/**
 * JSON text that is written as it stands. Parsing and printing it again would lose big numbers, equal names and the order
 * of names that are numbers.
 */
export class RawJson {
  readonly text: string;

  /** `text`: valid JSON. */
  constructor(text: string) {
    this.text = text;
  }
}

/** Writes a value as JSON; `RawJson` in it as it stands. Members that are undefined are left out. */
export function writeJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => writeJson(each ?? null)).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${JSON.stringify(name)}:${writeJson(each)}`);
  return `{${members.join(',')}}`;
}

/** A value in the text of a valid JSON document, to find the text of values inside it. */
export class JsonSource {
  readonly #json: Buffer;
  readonly #from: number;
  #members: ReadonlyMap<string, { from: number; until: number }> | null = null;
  #elements: readonly number[] | null = null;

  constructor(json: Buffer, from = 0) {
    this.#json = json;
    this.#from = from;
  }

  /** A member of the object that it is; null without one. The last of equal names counts, as for `JSON.parse`. */
  member(name: string): JsonSource | null {
    const range = this.#range(name);
    return range === undefined ? null : new JsonSource(this.#json, range.from);
  }

  /** The text of a member; null without one. */
  textOf(name: string): string | null {
    const range = this.#range(name);
    return range === undefined ? null : this.#json.toString('utf8', range.from, range.until);
  }

  /** An element of the array that it is. */
  element(index: number): JsonSource | null {
    if (this.#json[this.#from] !== openBracket) return null;
    this.#elements ??= [...elementsOf(this.#json, this.#from)];
    const from = this.#elements[index];
    return from === undefined ? null : new JsonSource(this.#json, from);
  }

  #range(name: string): { from: number; until: number } | undefined {
    this.#members ??= this.#read();
    return this.#members.get(name);
  }

  #read(): ReadonlyMap<string, { from: number; until: number }> {
    // White space may come before the document.
    const isObject = this.#from === 0 || this.#json[this.#from] === openBrace;
    const members = isObject ? objectMembers(this.#json, { from: this.#from, max: maxMembers }) : [];
    return new Map(members.map(({ name, valueStart: from, valueEnd: until }) => [name, { from, until }]));
  }
}

const maxMembers = 10_000;
