import type { Steps } from '@gatehouse/kit/cooperative-steps';
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
import { maxMendedBareBytes, maxMendedElements, maxMendedTexts, maxMendedValues } from '../bounds.ts';
import { valueEnd } from './json-members.ts';

/** The place of an element of a list; `isLong`: whether it takes too long to be walked over at once. */
export interface WalkedElement {
  at: number;
  end: number;
  isLong: boolean;
}

/** So many bytes outside of texts, or texts, are passed in a few milliseconds. */
const passedInStep = 65_536;

/** The elements of the last list of a name in an object, in steps; null without one, or for too many. */
export function* walkedElements(json: Buffer, name: string): Steps<readonly WalkedElement[] | null> {
  let list = -1;
  let at = skipSpace(json, json.indexOf(openBrace) + 1);
  while (json[at] === quote) {
    const nameEnd = textEnd(json, at) + 1;
    const value = skipSpace(json, json.indexOf(colon, nameEnd) + 1);
    if (json.toString('latin1', at + 1, Math.min(nameEnd - 1, at + 21)) === name) list = value;
    at = behind(json, (yield* walked(json, value)).end);
  }
  if (json[list] !== openBracket) return null;
  const elements: WalkedElement[] = [];
  for (at = skipSpace(json, list + 1); at < json.length && json[at] !== closeBracket;) {
    if (elements.length === maxMendedElements) return null;
    const element = yield* walked(json, at);
    elements.push(element);
    at = behind(json, element.end);
  }
  return elements;
}

/** The next member or element behind a value, or the end. */
function behind(json: Buffer, end: number): number {
  const at = skipSpace(json, end);
  return json[at] === comma ? skipSpace(json, at + 1) : at;
}

function* walked(json: Buffer, at: number): Steps<WalkedElement> {
  const walk = new ValueWalk(json, at);
  while (!walk.step()) yield;
  return { at, end: walk.at, isLong: walk.isLong };
}

/** A walk over one value. Its loop stands in no generator, since those run unoptimized. */
class ValueWalk {
  at: number;
  readonly #json: Buffer;
  #depth = 0;
  #values = 0;
  #texts = 0;
  #bare = 0;

  constructor(json: Buffer, at: number) {
    this.#json = json;
    this.at = at;
  }

  get isLong(): boolean {
    return this.#values > maxMendedValues || this.#texts > maxMendedTexts || this.#bare > maxMendedBareBytes;
  }

  /** Goes on for a few milliseconds. Returns whether `at` is the end of the value. */
  step(): boolean {
    const json = this.#json;
    let [at, depth] = [this.at, this.#depth];
    let [values, texts, passed] = [0, 0, 0];
    do {
      const byte = json[at];
      if (byte === quote) {
        at = textEnd(json, at);
        texts += 1;
      } else if (byte === openBrace || byte === openBracket) {
        depth += 1;
        values += 1;
      } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
      else if (depth === 0) at = valueEnd(json, at) - 1;
      else if (byte === comma) values += 1;
      at += 1;
      passed += 1;
    } while (depth > 0 && at < json.length && passed < passedInStep);
    [this.at, this.#depth] = [at, depth];
    this.#values += values;
    this.#texts += texts;
    this.#bare += passed - texts;
    return depth === 0 || at >= json.length;
  }
}
