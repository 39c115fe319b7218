import { frameData } from './sse-frames.ts';

const start = Buffer.from('[');
const separator = Buffer.from(',\n');

/** Writes the data of frames, each a JSON text, as the elements of one growing array. */
export class GrowingArray {
  /** White space: a sign of life without effect. */
  static readonly keepAlive = Buffer.from('\n');
  #isBegun = false;

  /** Frames without data are left out. */
  add(frames: readonly Buffer[]): Buffer[] {
    const written: Buffer[] = [];
    for (const frame of frames) {
      const data = frameData(frame);
      if (data === null) continue;
      written.push(this.#isBegun ? separator : start, Buffer.from(data));
      this.#isBegun = true;
    }
    return written;
  }

  /** The end of the array. */
  end(): Buffer {
    return Buffer.from(this.#isBegun ? ']\n' : '[]\n');
  }
}
