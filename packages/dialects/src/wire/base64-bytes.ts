import { backslash } from '@gatehouse/kit/json-bytes';

/** Base64 in the standard alphabet (RFC 4648, section 4), from either alphabet and without white space. */

export function standardBase64(text: string): string {
  return text.replaceAll(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
}

/** The same for the pieces of a text in JSON, in order. */
export class Base64Bytes {
  #isEscaped = false;

  standard(piece: Buffer): Buffer {
    const written = Buffer.allocUnsafe(piece.length + 1);
    let length = 0;
    for (const byte of piece) {
      const isEscaped = this.#isEscaped;
      this.#isEscaped = !isEscaped && byte === backslash;
      if (this.#isEscaped || byte === space || (isEscaped && blankEscapes.has(byte))) continue;
      if (isEscaped && byte !== slash) written[length++] = backslash;
      written[length++] = byte === hyphen ? plus : byte === underscore ? slash : byte;
    }
    return written.subarray(0, length);
  }
}

const space = 0x20;
const [plus = 0, slash = 0, hyphen = 0, underscore = 0] = Buffer.from('+/-_');
const blankEscapes = new Set(Buffer.from('nrt'));
