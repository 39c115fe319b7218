import { backslash } from '@gatehouse/kit/json-bytes';
import type { Edit } from '../wire/json-edits.ts';

/** A change of a text: `from` and `until` are UTF-16 offsets in its value. */
export interface TextChange {
  from: number;
  until: number;
  text: string;
}

const letterU = 0x75;

/**
 * Changes of a string as edits of its source: every byte outside of them stays. `from`, `until`: the place of the string with
 * its quotes. Changes must not overlap.
 */
export function sourceEdits(
  json: Buffer,
  { from, until, value }: { from: number; until: number; value: string },
  changes: readonly TextChange[],
): Edit[] {
  const sorted = changes.map((change) => onCharacters(value, change)).sort((a, b) => a.from - b.from);
  const offsets = new SourceOffsets(json, from + 1, until - 1);
  const edits = sorted.map(({ from: begin, until: end, text }) => {
    const at = offsets.next(begin);
    return { at, until: offsets.next(end), text: JSON.stringify(text).slice(1, -1) };
  });
  return edits;
}

/** The value with changes. */
export function changed(value: string, changes: readonly TextChange[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const { from, until, text } of changes.toSorted((a, b) => a.from - b.from)) {
    parts.push(value.slice(end, from), text);
    end = until;
  }
  parts.push(value.slice(end));
  return parts.join('');
}

/** A change never divides a surrogate pair. */
function onCharacters(value: string, { from, until, text }: TextChange): TextChange {
  return { from: from - inPair(value, from), until: until + inPair(value, until), text };
}

function inPair(value: string, at: number): number {
  return isHalf(value.charCodeAt(at - 1), 0xd8_00) && isHalf(value.charCodeAt(at), 0xdc_00) ? 1 : 0;
}

function isHalf(unit: number, begin: number): boolean {
  return unit >= begin && unit < begin + 0x4_00;
}

/** Finds the bytes of UTF-16 offsets in the source of a string, in ascending order. */
class SourceOffsets {
  readonly #json: Buffer;
  readonly #end: number;
  #at: number;
  #units = 0;

  constructor(json: Buffer, from: number, end: number) {
    this.#json = json;
    this.#at = from;
    this.#end = end;
  }

  next(offset: number): number {
    const json = this.#json;
    while (this.#units < offset && this.#at < this.#end) {
      const byte = json[this.#at] ?? 0;
      if (byte === backslash) this.#at += json[this.#at + 1] === letterU ? 6 : 2;
      else this.#at += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      this.#units += byte >= 0xf0 ? 2 : 1;
    }
    return this.#at;
  }
}
