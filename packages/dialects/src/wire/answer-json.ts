import { smallBytes } from '@gatehouse/kit/json-bytes';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  smallMembers,
  wholeOf,
  type Range,
} from './json-parts.ts';

/** A parsed value, and its share of the characters of the parsed text. */
interface ParsedValue {
  value: unknown;
  chars: number;
}

/**
 * A value in the JSON of an answer: parsed as a whole where this takes up to 50 ms, otherwise read part by part,
 * without a check of the rest for its form.
 */
export class AnswerJson {
  readonly #bytes: Buffer;
  /** The tenant charged for large parts' turns at the event loop. */
  readonly #tenantId: string | null;
  readonly #range: Range;
  /** Null for an answer with too long a parsing time, and for its parts. */
  readonly #parsed: ParsedValue | null;
  #members: ReadonlyMap<string, Range> | null | undefined;

  private constructor(bytes: Buffer, tenantId: string | null, range: Range, parsed: ParsedValue | null) {
    this.#bytes = bytes;
    this.#tenantId = tenantId;
    this.#range = range;
    this.#parsed = parsed;
  }

  static whole(bytes: Buffer, tenantId: string | null): AnswerJson | Promise<AnswerJson> {
    const range = wholeOf(bytes);
    if (bytes.length > smallBytes) return AnswerJson.#large(bytes, tenantId);
    const value = parsedPart(bytes, range, tenantId);
    return new AnswerJson(bytes, tenantId, range, { value, chars: bytes.length });
  }

  static async #large(bytes: Buffer, tenantId: string | null): Promise<AnswerJson> {
    const range = wholeOf(bytes);
    if (!(await isParsable(bytes, range, tenantId))) return new AnswerJson(bytes, tenantId, range, null);
    const value = await parsedPart(bytes, range, tenantId);
    return new AnswerJson(bytes, tenantId, range, { value, chars: bytes.length });
  }

  /** Whether its value is at hand, and those of its parts. */
  get isParsed(): boolean {
    return this.#parsed !== null;
  }

  /** Characters of the value as it is written. */
  get chars(): number {
    return this.#parsed?.chars ?? this.#range.until - this.#range.from;
  }

  /** The beginning of a text as it is written, without its quotation mark. */
  get beginning(): string {
    const { from } = this.#range;
    return this.#bytes
      .toString('utf8', from, from + smallBytes)
      .trimStart()
      .slice(1);
  }

  /** The parsed value; undefined for one with too long a parsing time, or for no JSON. */
  value(): unknown {
    // Not kept: the parts of a large answer would all be in memory at once.
    return this.#parsed === null ? this.#parse() : this.#parsed.value;
  }

  /** The members of an object, of which a large one has the small ones among `names`; null for another value. */
  fields(names: readonly string[]): Fields | null | Promise<Fields | null> {
    if (this.#parsed === null) return this.#smallFields(names);
    return isFields(this.#parsed.value) ? this.#parsed.value : null;
  }

  member(name: string): AnswerJson | null | Promise<AnswerJson | null> {
    if (this.#parsed === null) return this.#unparsedMember(name);
    const { value, chars } = this.#parsed;
    return isFields(value) && Object.hasOwn(value, name)
      ? this.#part(this.#range, { value: value[name], chars })
      : null;
  }

  /** The elements of an array, at most `max`; null for another value. */
  elements(max: number): readonly AnswerJson[] | null | Promise<readonly AnswerJson[] | null> {
    if (this.#parsed === null) return this.#unparsedElements(max);
    const { value, chars } = this.#parsed;
    if (!Array.isArray(value)) return null;
    const share = chars / value.length;
    return value
      .slice(0, max)
      .map((element: unknown) => this.#part(this.#range, { value: element, chars: share }));
  }

  async #smallFields(names: readonly string[]): Promise<Fields | null> {
    const members = await this.#readMembers();
    return members && smallMembers(this.#bytes, members, { names, tenantId: this.#tenantId });
  }

  async #unparsedMember(name: string): Promise<AnswerJson | null> {
    const range = (await this.#readMembers())?.get(name);
    return range === undefined ? null : this.#part(range, null);
  }

  async #unparsedElements(max: number): Promise<readonly AnswerJson[] | null> {
    const ranges = await elementRanges(this.#bytes, this.#range, { tenantId: this.#tenantId, max });
    return ranges && ranges.map((range) => this.#part(range, null));
  }

  #part(range: Range, parsed: ParsedValue | null): AnswerJson {
    return new AnswerJson(this.#bytes, this.#tenantId, range, parsed);
  }

  async #parse(): Promise<unknown> {
    const isShort = await isParsable(this.#bytes, this.#range, this.#tenantId);
    return isShort ? parsedPart(this.#bytes, this.#range, this.#tenantId) : undefined;
  }

  async #readMembers(): Promise<ReadonlyMap<string, Range> | null> {
    if (this.#members === undefined)
      this.#members = await memberRanges(this.#bytes, this.#range, this.#tenantId);
    return this.#members;
  }
}
