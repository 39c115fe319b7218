/** Bytes in pieces, for example a text with edits: they share the memory of their sources. */
export class Pieces {
  readonly all: readonly Buffer[];
  readonly length: number;

  constructor(all: readonly Buffer[]) {
    this.all = all;
    this.length = all.reduce((sum, { length }) => sum + length, 0);
  }

  static from(bytes: Buffer): Pieces {
    return new Pieces([bytes]);
  }

  /** A copy, unless there is one piece. */
  get whole(): Buffer {
    const [only] = this.all;
    return this.all.length === 1 && only !== undefined ? only : Buffer.concat(this.all, this.length);
  }

  /** The same bytes in parts of up to `most`, whatever the pieces are: small ones are joined, larger ones divided. */
  *parts(most: number): Generator<Buffer, void> {
    let small: Buffer[] = [];
    let bytes = 0;
    for (const piece of this.all)
      for (let from = 0; from < piece.length; from += most) {
        const part = piece.subarray(from, from + most);
        if (bytes + part.length > most) {
          yield new Pieces(small).whole;
          [small, bytes] = [[], 0];
        }
        small.push(part);
        bytes += part.length;
      }
    if (bytes > 0) yield new Pieces(small).whole;
  }

  toString(): string {
    return this.whole.toString();
  }
}
