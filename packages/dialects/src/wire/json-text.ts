import { AppError } from '@gatehouse/kit/errors';
import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import { elementsOf, objectMembers, type Member } from './json-members.ts';
import { maxElements, maxInnerMembers } from '../bounds.ts';

/**
 * JSON text written as it stands. Parsing and printing it again would lose big numbers, equal names and the order of
 * names made of digits.
 */
export class RawJson {
  readonly text: string;

  /** `text`: valid JSON. */
  constructor(text: string) {
    this.text = text;
  }
}

/** A value with a long making time, so it is made during writing. */
export class DeferredText {
  readonly made: () => unknown;

  constructor(made: () => unknown) {
    this.made = made;
  }
}

/** Writes a value as JSON; `RawJson` in it as it stands. Undefined members are left out. */
export function writeJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (value instanceof DeferredText) return writeJson(value.made());
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => writeJson(each ?? null)).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${JSON.stringify(name)}:${writeJson(each)}`);
  return `{${members.join(',')}}`;
}

/**
 * A value in the text of a valid JSON document, to find the text of values inside it. It splits its text once, however often
 * it is asked.
 */
export class JsonSource {
  readonly #json: Buffer;
  readonly #from: number;
  readonly #until: number | null;
  #members: ReadonlyMap<string, JsonSource> | null = null;
  #elements: readonly JsonSource[] | null = null;

  /** `until`: its end, if known. */
  constructor(json: Buffer, from = 0, until: number | null = null) {
    this.#json = json;
    this.#from = from;
    this.#until = until;
  }

  /** `members`: those of the document, an object. */
  static fromMembers(json: Buffer, members: readonly Member[]): JsonSource {
    const source = new JsonSource(json);
    source.#members = source.#sourcesOf(members);
    return source;
  }

  /**
   * A member of this object; null without one. The last of equal names counts, as for `JSON.parse`. Throws
   * `invalid_value` for an object with too many.
   */
  member(name: string): JsonSource | null {
    this.#members ??= this.#readMembers();
    return this.#members.get(name) ?? null;
  }

  /** The text of a member; null without one. Throws as `member` does. */
  textOf(name: string): string | null {
    const member = this.member(name);
    return member === null ? null : member.#json.toString('utf8', member.#from, member.#until ?? undefined);
  }

  /** An element of this array. Throws `invalid_value` for an array with too many. */
  element(index: number): JsonSource | null {
    this.#elements ??= this.#readElements();
    return this.#elements[index] ?? null;
  }

  #readMembers(): ReadonlyMap<string, JsonSource> {
    // White space may come before the document.
    if (this.#from !== 0 && this.#json[this.#from] !== openBrace) return new Map();
    const members = objectMembers(this.#json, { from: this.#from, max: maxInnerMembers });
    if (members.length > maxInnerMembers)
      throw new AppError('invalid_value', `An object has more than ${maxInnerMembers} members.`);
    return this.#sourcesOf(members);
  }

  #sourcesOf(members: readonly Member[]): ReadonlyMap<string, JsonSource> {
    return new Map(
      members.map(({ name, valueStart, valueEnd }) => [
        name,
        new JsonSource(this.#json, valueStart, valueEnd),
      ]),
    );
  }

  #readElements(): readonly JsonSource[] {
    if (this.#json[this.#from] !== openBracket) return [];
    const elements: JsonSource[] = [];
    for (const from of elementsOf(this.#json, this.#from)) {
      if (elements.length === maxElements)
        throw new AppError('invalid_value', `A list has more than ${maxElements} elements.`);
      elements.push(new JsonSource(this.#json, from));
    }
    return elements;
  }
}
