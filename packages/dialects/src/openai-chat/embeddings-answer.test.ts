import { describe, expect, it } from '@jest/globals';
import { readEmbeddings } from './embeddings-answer.ts';

const read = (answer: unknown, texts: number): Promise<number[][] | null> =>
  readEmbeddings(Buffer.from(JSON.stringify(answer)), { texts, tenantId: null });

describe('an answer with vectors', () => {
  it('has one for each text, in the order of the texts', async () => {
    const data = [
      { index: 1, embedding: [3, 4] },
      { index: 0, embedding: [1, -2.5] },
    ];
    expect(await read({ data }, 2)).toEqual([
      [1, -2.5],
      [3, 4],
    ]);
    expect(await read({ data: [{ embedding: [1] }, { embedding: [2] }] }, 2)).toEqual([[1], [2]]);
  });

  it('may have them in base64, of a server that was asked for numbers', async () => {
    expect(await read({ data: [{ embedding: 'AACAPwAAIMA=' }, { embedding: [2, 3] }] }, 2)).toEqual([
      [1, -2.5],
      [2, 3],
    ]);
  });

  it.each<[string, unknown]>([
    ['no vectors', {}],
    ['none at all', null],
    ['too few', { data: [{ index: 0, embedding: [1] }] }],
    ['too many', { data: [0, 1, 2].map((index) => ({ index, embedding: [1] })) }],
    ['one twice', { data: [0, 0].map((index) => ({ index, embedding: [1] })) }],
    ['an unknown index', { data: [0, 2].map((index) => ({ index, embedding: [1] })) }],
    ['two dimensions', { data: [[1], [1, 2]].map((embedding, index) => ({ index, embedding })) }],
    ['empty vectors', { data: [[], []].map((embedding, index) => ({ index, embedding })) }],
    ['a number beyond a float', { data: [[1e39], [1]].map((embedding, index) => ({ index, embedding })) }],
    ['null for a number', { data: [[null], [1]].map((embedding, index) => ({ index, embedding })) }],
    ['texts for numbers', { data: [['1'], ['2']].map((embedding, index) => ({ index, embedding })) }],
    [
      'base64 of parts of floats',
      { data: ['AACA', 'AACA'].map((embedding, index) => ({ index, embedding })) },
    ],
    ['base64 of infinity', { data: ['AACAfw==', '//8='].map((embedding, index) => ({ index, embedding })) }],
    ['entries that are none', { data: [null, 7] }],
    [
      'vectors that are too long',
      { data: [0, 1].map((index) => ({ index, embedding: Array.from({ length: 8_193 }, () => 0) })) },
    ],
  ])('with %s is none', async (_name, answer) => {
    expect(await read(answer, 2)).toBeNull();
  });

  it('may have as many numbers as fit in one message', async () => {
    const embedding = Array.from({ length: 8_192 }, (_, n) => n / 3);
    const data = Array.from({ length: 64 }, (_, index) => ({ index, embedding }));
    const vectors = await read({ data }, 64);
    expect([vectors?.length, vectors?.[63]]).toEqual([64, embedding]);
    expect(await read({ data: [...data, data[0]] }, 64)).toBeNull();
  });
});
