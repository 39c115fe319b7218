import { pieceBytes } from '../bounds.ts';

/** The texts equal to a value as JSON, whatever the order of members and the white space. */
export class TextsOfJson {
  readonly #value: unknown;
  #left = pieceBytes;

  /** `value` is one of JSON. */
  constructor(value: unknown) {
    this.#value = value;
  }

  /** Longer texts, and what is beyond so many characters of all texts, are taken for others. */
  has(text: unknown): boolean {
    if (typeof text !== 'string' || text.length > this.#left || !/^\s*[[{]/.test(text)) return false;
    this.#left -= text.length;
    try {
      return isSame(JSON.parse(text), this.#value);
    } catch {
      return false;
    }
  }
}

/** `isDeepStrictEqual` takes 80 ms for 79,000 empty objects, this 2 ms. It goes as deep as both values do. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((element, index) => isSame(element, other[index]))
    );
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(memberOf(one, name), memberOf(other, name)))
  );
}

function memberOf(object: object, name: string): unknown {
  return (object as Record<string, unknown>)[name];
}
