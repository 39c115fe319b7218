import { DeferredText, RawJson } from './json-text.ts';

/** Characters and values of one piece, which is written in about a millisecond. */
const pieceChars = 64 * 1024;
const pieceParts = 2_000;

/** Writes a value as JSON, as `writeJson` does, in pieces. Other work may come between two of them. */
export function jsonPieces(value: unknown): Generator<string, void> {
  return new JsonPieces().written(value);
}

class JsonPieces {
  #parts: string[] = [];
  #chars = 0;

  *written(value: unknown): Generator<string, void> {
    yield* this.#write(value);
    yield this.#taken();
  }

  *#write(value: unknown): Generator<string, void> {
    if (value instanceof DeferredText) {
      yield this.#taken();
      yield* this.#write(value.made());
    } else if (value instanceof RawJson) yield* this.#slices(value.text, (slice) => slice);
    else if (typeof value === 'string') {
      this.#add('"');
      yield* this.#slices(value, (slice) => JSON.stringify(slice).slice(1, -1));
      this.#add('"');
    } else if (Array.isArray(value)) yield* this.#array(value);
    else if (typeof value === 'object' && value !== null) yield* this.#object(value);
    else this.#add(JSON.stringify(value ?? null));
    if (this.#chars >= pieceChars || this.#parts.length >= pieceParts) yield this.#taken();
  }

  *#array(values: readonly unknown[]): Generator<string, void> {
    this.#add('[');
    for (const [index, each] of values.entries()) {
      if (index > 0) this.#add(',');
      yield* this.#write(each);
    }
    this.#add(']');
  }

  *#object(value: object): Generator<string, void> {
    let separator = '{';
    for (const [name, each] of Object.entries(value)) {
      if (each === undefined) continue;
      this.#add(`${separator}${JSON.stringify(name)}:`);
      separator = ',';
      yield* this.#write(each);
    }
    this.#add(separator === '{' ? '{}' : '}');
  }

  *#slices(text: string, written: (slice: string) => string): Generator<string, void> {
    for (let from = 0; from < text.length;) {
      let until = Math.min(text.length, from + pieceChars);
      // Both halves of a character stay together.
      if (until < text.length && isHighSurrogate(text.charCodeAt(until - 1))) until += 1;
      this.#add(written(text.slice(from, until)));
      from = until;
      if (this.#chars >= pieceChars) yield this.#taken();
    }
  }

  #add(part: string): void {
    this.#parts.push(part);
    this.#chars += part.length;
  }

  #taken(): string {
    const piece = this.#parts.join('');
    this.#parts = [];
    this.#chars = 0;
    return piece;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
