import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readRequest } from './request.ts';

const floats = (numbers: readonly number[]): string =>
  Buffer.from(new Float32Array(numbers).buffer).toString('base64');

async function shown(request: object, answer: unknown): Promise<string> {
  const fields = { model: 'm', input: 'two words', ...request };
  const view = readRequest('embeddings', Buffer.from(JSON.stringify(fields)), fields).viewWith?.({
    systemPrompt: null,
    toolNames: new Set(),
    kept: null,
  });
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const bytes = await view?.whole(Buffer.from(text), 't', { api: 'chat', upstreamModel: 'up' });
  return String(bytes);
}

const answerOf = (...embeddings: unknown[]) => ({
  object: 'list',
  data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model: 'm',
  usage: { prompt_tokens: 3, total_tokens: 3 },
});

describe('embeddings of a server that ignores the encoding', () => {
  it('are base64 of 32-bit floats for a client that asks for it', async () => {
    const answer = await shown({ encoding_format: 'base64' }, answerOf([0.5, -0.25, 1, 2], [3, 4, 5, 6]));
    expect(JSON.parse(answer)).toEqual(answerOf(floats([0.5, -0.25, 1, 2]), floats([3, 4, 5, 6])));
  });

  it.each([{}, { encoding_format: 'float' }])('are numbers for a client that asks for %j', async (format) => {
    const answer = await shown(format, answerOf(floats([0.5, -0.25]), [1, 2]));
    expect(JSON.parse(answer)).toEqual(answerOf([0.5, -0.25], [1, 2]));
  });

  it('may be of both encodings, and have any layout', async () => {
    const answer =
      '{ "object" : "list", "data" : [ {"embedding" :\n[ 0.5 ,1e0 ] , "index":0}, {"index":1,"embedding":"AACAPw=="} ],"x":"\\"embedding\\":[1]"}';
    expect(await shown({ encoding_format: 'base64' }, answer)).toBe(
      answer.replace('\n[ 0.5 ,1e0 ] ', `"${floats([0.5, 1])}"`),
    );
  });

  it('are any vectors', async () => {
    const vectors = fc.array(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }));
    await fc.assert(
      fc.asyncProperty(vectors, async (lists) => {
        const written = lists.map((list) => list.map((value) => value + 0));
        const encoded = await shown({ encoding_format: 'base64' }, answerOf(...written));
        expect(JSON.parse(encoded)).toEqual(answerOf(...written.map(floats)));
        expect(JSON.parse(await shown({}, encoded))).toEqual(answerOf(...written));
      }),
    );
  });
});

describe('the bytes of the provider stay', () => {
  it.each<[object, unknown]>([
    [{ encoding_format: 'base64' }, answerOf(floats([0.5]))],
    [{}, answerOf([0.5, 1])],
    [{}, answerOf('no base64!')],
    [{}, answerOf('AACA')],
    [{ encoding_format: 'base64' }, answerOf(['x'], [null], {})],
    [{ encoding_format: 'base64' }, { data: { embedding: [1] } }],
    [{ encoding_format: 'base64' }, { data: [7, null, { embedding: 7 }], embedding: [1] }],
    [{ encoding_format: 'base64' }, '{"data":[{"embedding":[1'],
    [{ encoding_format: 'base64' }, answerOf(...Array.from({ length: 16_385 }, () => [1]))],
  ])('for %j and an answer without another encoding', async (request, answer) => {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 1);
    expect((await shown(request, text)) === text).toBe(true);
  });
});
