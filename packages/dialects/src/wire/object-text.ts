import { closeBrace, openBrace, openBracket, quote, skipSpace, smallBytes } from '@gatehouse/kit/json-bytes';
import { elementsOf, objectMembers, valueEnd, type Member } from './json-members.ts';

/** A value in a valid JSON text, by its members if it is an object: they are found, but not parsed. */
export class ObjectText {
  readonly #json: Buffer;
  readonly #members: ReadonlyMap<string, Member>;
  readonly #elements = new Map<string, readonly ObjectText[]>();
  /** Its own text. */
  readonly bytes: Buffer;

  constructor(json: Buffer, at: number) {
    const members = json[at] === openBrace ? objectMembers(json, { from: at }) : [];
    this.#json = json;
    this.#members = new Map(members.map((member) => [member.name, member]));
    const end = skipSpace(json, members.at(-1)?.valueEnd ?? at);
    this.bytes = json.subarray(at, json[end] === closeBrace ? end + 1 : valueEnd(json, at));
  }

  /** The text of a member's value, the last of its name; null without one. */
  value(name: string): Buffer | null {
    const member = this.#members.get(name);
    return member === undefined ? null : this.#json.subarray(member.valueStart, member.valueEnd);
  }

  /** A member's value if it is a text of an id's or a name's length; empty otherwise. */
  textOf(name: string): string {
    const value = this.value(name);
    if (value?.[0] !== quote || value.length > smallBytes) return '';
    return JSON.parse(value.toString()) as string;
  }

  /** The elements of a member's list. */
  elements(name: string): readonly ObjectText[] {
    const before = this.#elements.get(name);
    if (before !== undefined) return before;
    const start = this.#members.get(name)?.valueStart;
    const isList = start !== undefined && this.#json[start] === openBracket;
    const elements = isList
      ? Array.from(elementsOf(this.#json, start), (at) => new ObjectText(this.#json, at))
      : [];
    this.#elements.set(name, elements);
    return elements;
  }
}
