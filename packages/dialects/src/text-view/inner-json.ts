import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { JsonScan, parsedAtOnce } from '@gatehouse/kit/json-scan';
import { parsedBytes, pieceBytes } from '../bounds.ts';

const begin = /^\s*[[{]/;

/** JSON in so many strings, each in the one before, is read. */
export const maxInnerDepth = 3;

/** Whether a string may be an object or a list in JSON with escapes: without one, its texts stand in it as they are. */
export function mayBeEscapedJson(value: string): boolean {
  return value.includes('\\') && mayBeJson(value);
}

function mayBeJson(value: string): boolean {
  return begin.test(value);
}

/** The JSON in a string of a document: null if it is no object or list, and for too much of it. */
interface InnerDocument {
  json: Buffer | null;
  isTooMuch: boolean;
}

/** Finds JSON in the strings of one document: in all of them together as much as a document may have. */
export class InnerJson {
  #values = 0;
  #texts = 0;

  *documentIn(value: string): Steps<InnerDocument> {
    if (!mayBeJson(value)) return { json: null, isTooMuch: false };
    const json = Buffer.from(value);
    const scan = new JsonScan();
    const limits = {
      ...parsedAtOnce,
      values: parsedAtOnce.values - this.#values,
      texts: parsedAtOnce.texts - this.#texts,
    };
    for (let from = 0; from < json.length; from += pieceBytes) {
      scan.add(json, from, Math.min(json.length, from + pieceBytes));
      if (json.length > parsedBytes || scan.exceeds(limits) !== undefined)
        return { json: null, isTooMuch: true };
      if (json.length > pieceBytes) yield;
    }
    if (!isJson(value)) return { json: null, isTooMuch: false };
    this.#values += scan.values;
    this.#texts += scan.texts;
    return { json, isTooMuch: false };
  }
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
