import { expect, it } from '@jest/globals';
import { RequestText } from './request-text.ts';
import { Pieces } from './pieces.ts';

const rename = (body: Buffer, model: string): Pieces =>
  Pieces.from(Buffer.from(JSON.stringify({ ...(JSON.parse(body.toString()) as object), model })));

function sourceOf(body: object): { source: RequestText<string>; released: () => number } {
  let released = 0;
  const share = { release: () => (released += 1) };
  return {
    source: new RequestText(Buffer.from(JSON.stringify(body)), share, rename),
    released: () => released,
  };
}

it('gives the request out as often as a provider is called, and nothing once it is released', () => {
  const { source, released } = sourceOf({ model: 'x', a: 1 });
  expect([source.rewritten('m'), source.rewritten('m')].map(String)).toEqual(
    Array(2).fill('{"model":"m","a":1}'),
  );
  expect(released()).toBe(0);
  source.release();
  expect(released()).toBe(1);
  expect(() => source.rewritten('m')).toThrow('released');
});

it('refuses a request of more than a thousand members', () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
  expect(sourceOf(members(1_000)).source).toBeInstanceOf(RequestText);
  expect(() => sourceOf(members(1_001))).toThrow(expect.objectContaining({ code: 'invalid_value' }));
});

it.each(['{"tools":[],"a":1,"tools":[1]}', '{"tools":[],"\\u0074ools":[1]}'])(
  'refuses a request with two members of one name: %s',
  (text) => {
    const share = { release: () => undefined };
    expect(() => new RequestText(Buffer.from(text), share, rename)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'tools' }),
    );
  },
);
