import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { CutTexts } from './cut-texts.ts';
import { Pieces } from './pieces.ts';

/** White space that makes a document large. */
const space = Buffer.alloc(1024 * 1024 + 1, ' ');

function withCut<Result>(json: readonly Buffer[], work: (texts: CutTexts) => Result): Result {
  const texts = atOnce(CutTexts.cut(new Pieces([...json, space])));
  try {
    return work(texts);
  } finally {
    texts.close();
  }
}

const units = fc.constantFrom(
  'a',
  ' ',
  '"',
  '\\',
  '\n',
  'é',
  '東',
  '😀',
  '\ud83d',
  '\ude00',
  '\0',
  '~',
  'u0000',
);
const long = fc
  .tuple(fc.array(units, { minLength: 1, maxLength: 30 }), fc.integer({ min: 30, max: 300 }))
  .map(([all, times]) => all.join('').repeat(times));
const names = fc.oneof(fc.constantFrom('text', 'content', 'id', 'image_url', 'a"text'), fc.string(), long);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    { weight: 3, arbitrary: long },
    { weight: 1, arbitrary: fc.string() },
    { weight: 3, arbitrary: fc.dictionary(names, tie('value'), { maxKeys: 4 }) },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
  ),
})).value;

/** The bytes in pieces, at any places. */
const pieces = fc
  .tuple(values, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }))
  .map(([value, places]) => {
    const json = Buffer.from(JSON.stringify(value));
    const ends = [...places.map((place) => Math.floor(place * json.length)), json.length].sort(
      (a, b) => a - b,
    );
    return { json, parts: ends.map((end, index) => json.subarray(ends[index - 1] ?? 0, end)) };
  });

it('restores what was cut, byte for byte, also in texts of JSON', () => {
  fc.assert(
    fc.property(pieces, ({ json, parts }) =>
      withCut(parts, (texts) => {
        const whole = json.toString();
        const short = texts.short.toString().trimEnd();
        const restored = (written: unknown): string =>
          atOnce(texts.restored(Buffer.from(JSON.stringify(written)))).body.toString();
        expect(restored(JSON.parse(short))).toBe(JSON.stringify(JSON.parse(whole)));
        expect(restored({ arguments: short })).toBe(JSON.stringify({ arguments: whole }));
        expect(restored([JSON.stringify([short])])).toBe(JSON.stringify([JSON.stringify([whole])]));
        expect(texts.uncutJson(short, Infinity)).toBe(whole);
      }),
    ),
    { numRuns: 200 },
  );
});

const said = `東\\ "said"\n`.repeat(1_000);

it('shares the memory of long texts with the document', () => {
  const json = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: said.repeat(500) }] }));
  withCut([json], (texts) => {
    expect(texts.short.length - space.length).toBeLessThan(1_000);
    const { body, copied } = atOnce(texts.restored(texts.short));
    expect(copied).toBe(texts.short.length);
    expect(body.all.filter(({ buffer }) => buffer === json.buffer).length).toBeGreaterThan(0);
    expect(body.length).toBe(json.length + space.length);
  });
});

it('cuts no character of two escapes', () => {
  for (let before = 480; before < 520; before += 1) {
    const text = `${'x'.repeat(before)}${String.raw`\ud83d\ude00`.repeat(200)}`;
    withCut([Buffer.from(`{"text":"${text}"}`)], (texts) => {
      const short = JSON.parse(texts.short.toString()) as { text: string };
      expect(short.text.length).toBeLessThan(600);
      expect(short.text.isWellFormed()).toBe(true);
      expect(CutTexts.uncut(short.text)).toBe(JSON.parse(`"${text}"`));
    });
  }
});

it('looks at blanks a mebibyte at a time', () => {
  const MiB = 1024 * 1024;
  const json = Buffer.from(JSON.stringify({ text: ' '.repeat(8 * MiB) }));
  const stepsOf = (body: Buffer): number => {
    const steps = CutTexts.cut(Pieces.from(body));
    for (let count = 0; ; count += 1) {
      const step = steps.next();
      if (step.done !== true) continue;
      step.value.close();
      return count;
    }
  };
  // Each mebibyte is scanned, and looked at.
  expect(stepsOf(json)).toBeGreaterThan(2 * 8);
});

it.each<[string, unknown]>([
  ['names, ids and arguments', { name: said, tool_use_id: said, arguments: said, [said]: 1 }],
  ['addresses', { url: `https://a.example/${said}` }],
  ['blanks', { text: ' \n\t'.repeat(5_000) }],
  ['texts of lists', { stop: [said] }],
])('cuts no %s', (_name, value) => {
  const json = Buffer.from(JSON.stringify(value));
  withCut([json], (texts) => expect(texts.short.subarray(0, json.length).equals(json)).toBe(true));
});

it('gives all of a text, and a member up to a size', () => {
  const value = { text: said, image_url: `data:image/png;base64,${said}` };
  withCut([Buffer.from(JSON.stringify(value))], (texts) => {
    const short = texts.short.toString().trimEnd();
    const { text } = JSON.parse(short) as typeof value;
    expect(text.length).toBeLessThan(1_000);
    expect(CutTexts.uncut(`1${text}2`)).toBe(`1${said}2`);
    const bytes = Buffer.byteLength(JSON.stringify(value));
    expect(texts.uncutJson(short, bytes)).toBe(JSON.stringify(value));
    expect(texts.uncutJson(short, bytes - 1)).toBeNull();
  });
});

it('refuses to write a mark that was changed', () => {
  const json = Buffer.from(JSON.stringify({ text: said }));
  withCut([json], (texts) => {
    const changed = texts.short.toString().replace(':0~', ':1~');
    expect(() => atOnce(texts.restored(Buffer.from(changed)))).toThrow(
      'a mark of a cut text has been changed',
    );
  });
});
