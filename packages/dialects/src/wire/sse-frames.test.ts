import { maxFrameBytes, maxFrameLines } from '../bounds.ts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { frameData, FrameSplitter, hasData } from './sse-frames.ts';

/** Frames of a stream that arrives in these pieces, and what is left at its end. */
function split(pieces: readonly Buffer[]): { frames: string[]; rest: string } {
  const splitter = new FrameSplitter();
  const frames = pieces.flatMap((piece) => splitter.push(piece)).map((frame) => frame.toString('latin1'));
  return { frames, rest: splitter.rest.toString('latin1') };
}

const stream = fc
  .array(
    fc.constantFrom(
      '\n',
      '\n\n',
      '\r\n',
      '\r\n\r\n',
      '\r',
      'data: {"a":"größe 你好 🎉"}',
      'data: [DONE]',
      ': comment',
      'event: x',
      'id:1',
      '',
    ),
    { maxLength: 30 },
  )
  .map((parts) => Buffer.from(parts.join('')));

/** The same bytes in pieces cut at any places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

describe('frames', () => {
  it('are the same however their bytes are cut, and lose none of them', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(2_000), { maxLength: 20 }), (bytes, places) => {
        const whole = split([bytes]);
        expect(split(cut(bytes, places))).toEqual(whole);
        expect(split(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole);
        expect(whole.frames.join('') + whole.rest).toBe(bytes.toString('latin1'));
      }),
      { numRuns: 500 },
    );
  });

  it('end with their blank line, and nowhere else', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const { frames, rest } = split([bytes]);
        for (const frame of frames) expect(frame).toMatch(/^(?:(?!\n\r?\n)[^])*\n\r?\n$/);
        expect(rest).not.toMatch(/\n\r?\n/);
      }),
    );
  });

  it.each([
    ['of one line', 'data: 1\n\ndata: 2\n\n', ['data: 1\n\n', 'data: 2\n\n'], ''],
    ['with CRLF', 'data: 1\r\n\r\ndata: 2\r\n\r\n', ['data: 1\r\n\r\n', 'data: 2\r\n\r\n'], ''],
    ['of several lines', 'event: e\ndata: 1\ndata: 2\n\n', ['event: e\ndata: 1\ndata: 2\n\n'], ''],
    ['without the last blank line', 'data: 1\n\ndata: [DONE]\n', ['data: 1\n\n'], 'data: [DONE]\n'],
    ['after empty lines', '\n\ndata: 1\n\n', ['\n\n', 'data: 1\n\n'], ''],
  ])('%s', (_name, text, frames, rest) => {
    expect(split([Buffer.from(text)])).toEqual({ frames, rest });
  });

  it('have no byte order mark at the start of the stream, and keep others', () => {
    const bytes = Buffer.from('\ufeffdata: 1\n\n\ufeffdata: 2\n\n\ufeff');
    const expected = split([Buffer.from('data: 1\n\n'), Buffer.from('\ufeffdata: 2\n\n\ufeff')]);
    expect(split([bytes])).toEqual(expected);
    expect(split(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(expected);
    expect(split([Buffer.from('\ufeffdata: [DONE]\n')]).rest).toBe('data: [DONE]\n');
    expect(split([Buffer.from('\ufeff\ufeffdata: 1\n\n')]).frames[0]).toBe('\xef\xbb\xbfdata: 1\n\n');
  });

  it('may be huge, in many pieces, but not endless', () => {
    const splitter = new FrameSplitter();
    const piece = Buffer.alloc(1024, 'x');
    const began = performance.now();
    let frames = 0;
    for (let size = 0; size + piece.length <= maxFrameBytes; size += piece.length)
      frames += splitter.push(piece).length;
    expect(frames).toBe(0);
    // Copying what came before with each piece would take most of a minute.
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(() => splitter.push(piece)).toThrow('too large');
    const fits = new FrameSplitter();
    fits.push(Buffer.alloc(maxFrameBytes - 1, 'x'));
    expect(fits.push(Buffer.from('\n\n'))[0]).toHaveLength(maxFrameBytes + 1);
  });
});

describe('a frame of many lines', () => {
  const most = 'data:\n'.repeat(maxFrameLines - 1);
  const inPieces = (text: string, bytes: number): Buffer[] =>
    Array.from({ length: Math.ceil(text.length / bytes) }, (_, at) =>
      Buffer.from(text.slice(at * bytes, (at + 1) * bytes)),
    );

  it('is refused where it comes at once, with its end', () => {
    expect(split([Buffer.from(`${most}\n`)]).frames).toHaveLength(1);
    expect(() => split([Buffer.from(`${most}data:\ndata:\n\n`)])).toThrow('too many lines');
  });

  it.each([1_000, 60_000])('is refused before it ends, in pieces of %i bytes', (bytes) => {
    expect(split(inPieces(`${most}\n`, bytes)).frames).toHaveLength(1);
    const splitter = new FrameSplitter();
    const pieces = inPieces(most.repeat(20), bytes);
    const refusedAt = pieces.findIndex((piece) => {
      try {
        return splitter.push(piece).length > 0;
      } catch (error) {
        expect(String(error)).toContain('too many lines');
        return true;
      }
    });
    expect(refusedAt * bytes).toBeLessThanOrEqual(most.length + 6);
    expect(refusedAt).toBeGreaterThanOrEqual(0);
  });
});

describe('the data of a frame', () => {
  it.each([
    ['data: {"a":1}\n\n', '{"a":1}'],
    ['data:{"a":1}\n\n', '{"a":1}'],
    ['data:  two spaces\n\n', ' two spaces'],
    ['data: {"a":1}\r\n\r\n', '{"a":1}'],
    ['data: 1\ndata: 2\n\n', '1\n2'],
    ['event: chunk\nid: 7\ndata: x\nretry: 1\n\n', 'x'],
    [': comment\ndata: x\n\n', 'x'],
    ['\ndata: x\n\n', 'x'],
    ['data:\n\n', ''],
    ['data: größe 🎉\n\n', 'größe 🎉'],
    ['data: a\u2028b\n\n', 'a\u2028b'],
    ['data: x\n', 'x'],
    [': comment\n\n', null],
    ['event: ping\n\n', null],
    ['database: x\n\n', null],
    ['\n\n', null],
    ['', null],
  ])('of %j is %j', (frame, expected) => {
    expect(frameData(Buffer.from(frame))).toBe(expected);
    expect(hasData(Buffer.from(frame))).toBe(expected !== null);
  });
});
