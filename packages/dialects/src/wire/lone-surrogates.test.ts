import { monotonicMs } from '@gatehouse/kit/clock';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { mayHaveHalves, withoutHalves } from './lone-surrogates.ts';
import { Pieces } from './pieces.ts';

const without = (text: string): string => atOnce(withoutHalves(Pieces.from(Buffer.from(text)))).toString();

describe('halves of characters in JSON', () => {
  it.each([
    ['a high half', '"cut \\ud83d here"', '"cut \\ufffd here"'],
    ['a low half', '"\\uDE00"', '"\\ufffd"'],
    ['a high half before a pair', '"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['halves in the wrong order', '"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
    ['a half before another escape', '"\\ud83d\\n\\uD83D\\u0041"', '"\\ufffd\\n\\ufffd\\u0041"'],
    ['a half at the end', '"\\ud83d', '"\\ufffd'],
  ])('replaces %s', (_name, text, want) => {
    expect(without(text)).toBe(want);
  });

  it.each([
    ['both halves', '"\\ud83d\\ude00 \\uD83D\\uDE00"'],
    ['Hangul beside the halves', '"\\ud55c\\ud7a3"'],
    ['a backslash before the letters', '"a file \\\\ud83d and \\\\\\\\ud83d"'],
    ['a text without escapes', '{"text":"😀"}'],
  ])('leaves %s', (_name, text) => {
    const pieces = Pieces.from(Buffer.from(text));
    expect(atOnce(withoutHalves(pieces))).toBe(pieces);
  });

  it('replaces a half behind an escaped backslash', () => {
    expect(without('"\\\\\\ud83d"')).toBe('"\\\\\\ufffd"');
  });

  it('copies only the pieces that change', () => {
    const [first, second] = [Buffer.from('{"a":"\\ud83d"'), Buffer.from(',"b":1}')];
    const pieces = atOnce(withoutHalves(new Pieces([first, second])));
    expect(pieces.toString()).toBe('{"a":"\\ufffd","b":1}');
    expect(pieces.all[1]).toBe(second);
    expect(first.toString()).toBe('{"a":"\\ud83d"');
  });

  it.each([
    ['"\\ud83d\\ude00"', true],
    ['"\\uD83D"', true],
    ['"\\u4f60 😀"', false],
  ])('looks for escapes in %s', (text, want) => {
    expect(mayHaveHalves(Pieces.from(Buffer.from(text)))).toBe(want);
  });

  it.each(['\\ud83d', '\\ud83d\\ude00', '\\\\\\ud55c'])('gives way to other work in 4 MiB of %s', (text) => {
    const body = Pieces.from(Buffer.from(`"${text.repeat((4 * 1024 * 1024) / text.length)}"`));
    const steps = withoutHalves(body);
    let longest = 0;
    for (let from = monotonicMs(); steps.next().done !== true; from = monotonicMs())
      longest = Math.max(longest, monotonicMs() - from);
    expect(longest).toBeLessThan(50);
  });
});
