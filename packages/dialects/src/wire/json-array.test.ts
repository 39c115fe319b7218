import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GrowingArray } from './json-array.ts';

const frame = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`);

it('is a JSON array of the data of frames, however they come and with signs of life between them', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.jsonValue())), (batches) => {
      const array = new GrowingArray();
      const written = batches.flatMap((values) => [
        GrowingArray.keepAlive,
        ...array.add(values.map((value) => frame(JSON.stringify(value)))),
      ]);
      const text = Buffer.concat([...written, array.end()]).toString();
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(batches.flat())));
    }),
  );
});

it('keeps the text of each value, and leaves comments out', () => {
  const array = new GrowingArray();
  const written = array.add([
    Buffer.from(': hm\n\n'),
    frame('{"a": 1.0}'),
    Buffer.from('data: {"b":1}\r\n\r\n'),
  ]);
  expect(Buffer.concat([...written, array.end()]).toString()).toBe('[{"a": 1.0},\n{"b":1}]\n');
});
