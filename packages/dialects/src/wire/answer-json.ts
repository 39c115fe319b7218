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
  /** Null for a part with too long a parsing time; undefined until this is known. */
  #parsed: ParsedValue | null | undefined;
  #members: ReadonlyMap<string, Range> | null | undefined;

  private constructor(bytes: Buffer, tenantId: string | null, range: Range, parsed?: ParsedValue) {
    this.#bytes = bytes;
    this.#tenantId = tenantId;
    this.#range = range;
    this.#parsed = parsed;
  }

  static whole(bytes: Buffer, tenantId: string | null): AnswerJson {
    return new AnswerJson(bytes, tenantId, wholeOf(bytes));
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
  async value(): Promise<unknown> {
    // Not kept: the parts of a large answer would all be in memory at once.
    const parsed = this.#parsed === undefined ? await this.#parse() : this.#parsed;
    return parsed?.value;
  }

  /** The members of an object, of which a large one has the small ones among `names`; null for another value. */
  async fields(names: readonly string[]): Promise<Fields | null> {
    const parsed = await this.#read();
    if (parsed !== null) return isFields(parsed.value) ? parsed.value : null;
    const members = await this.#readMembers();
    return members && smallMembers(this.#bytes, members, { names, tenantId: this.#tenantId });
  }

  async member(name: string): Promise<AnswerJson | null> {
    const parsed = await this.#read();
    if (parsed === null) {
      const range = (await this.#readMembers())?.get(name);
      return range === undefined ? null : this.#part(range);
    }
    const { value, chars } = parsed;
    return isFields(value) && Object.hasOwn(value, name)
      ? this.#part(this.#range, { value: value[name], chars })
      : null;
  }

  /** The elements of an array, at most `max`; null for another value. */
  async elements(max: number): Promise<readonly AnswerJson[] | null> {
    const parsed = await this.#read();
    if (parsed === null) {
      const ranges = await elementRanges(this.#bytes, this.#range, { tenantId: this.#tenantId, max });
      return ranges && ranges.map((range) => this.#part(range));
    }
    const { value, chars } = parsed;
    if (!Array.isArray(value)) return null;
    const share = chars / value.length;
    return value
      .slice(0, max)
      .map((element: unknown) => this.#part(this.#range, { value: element, chars: share }));
  }

  #part(range: Range, parsed?: ParsedValue): AnswerJson {
    return new AnswerJson(this.#bytes, this.#tenantId, range, parsed);
  }

  /** Null for a part of a large answer as well: it is split, so no parsed part stays in memory. */
  async #read(): Promise<ParsedValue | null> {
    const isWhole = this.#range.until - this.#range.from === this.#bytes.length;
    if (this.#parsed === undefined && isWhole) this.#parsed = await this.#parse();
    return this.#parsed ?? null;
  }

  async #parse(): Promise<ParsedValue | null> {
    if (!(await isParsable(this.#bytes, this.#range, this.#tenantId))) return null;
    return { value: await parsedPart(this.#bytes, this.#range, this.#tenantId), chars: this.chars };
  }

  async #readMembers(): Promise<ReadonlyMap<string, Range> | null> {
    if (this.#members === undefined)
      this.#members = await memberRanges(this.#bytes, this.#range, this.#tenantId);
    return this.#members;
  }
}
