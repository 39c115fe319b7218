import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import { Probe } from '../test/probe.ts';
import { arrayLiteral, plainArray, textArray } from './arrays.ts';

let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(() => probe.stop());

async function sent(type: 'text' | 'uuid', array: Buffer | string): Promise<unknown> {
  const { rows } = await probe.pool.query<{ came: unknown }>(`select $1::${type}[] as came`, [array]);
  return rows[0]?.came;
}

describe('an array of texts', () => {
  it('arrives as it is: empty, with nulls, whatever is in the texts', async () => {
    const wellFormed = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '').toWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(wellFormed)), async (texts) => {
        expect(await sent('text', textArray(texts))).toEqual(texts);
      }),
      { numRuns: 50 },
    );
  });

  it('has U+FFFD for lone surrogates', async () => {
    expect(await sent('text', textArray(['a\ud800b', '\udfff']))).toEqual(['a\ufffdb', '\ufffd']);
  });

  it('is refused for a NUL, and the connection goes on', async () => {
    await expect(sent('text', textArray(['a\0b']))).rejects.toMatchObject({ code: '22021' });
    expect(await sent('text', textArray(['ab']))).toEqual(['ab']);
  });
});

describe('an array of ids', () => {
  it.each([[[]], [[newId()]], [[newId(), newId(), newId()]]])('arrives as it is: %j', async (ids) => {
    expect(await sent('uuid', plainArray(ids))).toEqual(ids);
  });

  it.each(['', 'x', newId().slice(1), `${newId()}0`, `${newId()}"`, newId().replace(/.$/, 'g')])(
    'is refused with %j in it',
    async (text) =>
      expect(sent('uuid', plainArray([newId(), text]))).rejects.toMatchObject({ code: '22P02' }),
  );
});

describe('an array of texts within an array', () => {
  it('arrives as it is, whatever is in the texts', async () => {
    const wellFormed = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '').toWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.array(wellFormed), async (texts) => {
        const array = textArray([arrayLiteral(texts), null]);
        const { rows } = await probe.pool.query<{ came: unknown }>(
          'select literal::text[] as came from unnest($1::text[]) as literal',
          [array],
        );
        expect(rows.map(({ came }) => came)).toEqual([texts, null]);
      }),
      { numRuns: 50 },
    );
  });
});
