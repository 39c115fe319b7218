import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Rewrite } from '../dialect.ts';
import { readEmbeddings } from './embeddings-answer.ts';
import { readRequest } from './request.ts';

const rewrite: Rewrite = {
  ...{ api: 'gemini', model: 'up/stream', includeUsage: false, systemPrompt: null, reference: null },
  ...{ defaults: {}, maxTokens: null, tools: null },
};

const by = { api: 'gemini', upstreamModel: 'up' } as const;

function read(body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readRequest('embeddings', Buffer.from(text), JSON.parse(text));
}

const batchOf = (body: unknown): string =>
  read(body)
    .source({ release: () => undefined })
    .rewritten(rewrite)
    .toString();

interface Batch {
  requests: { model: string; content: { parts: { text: string }[] }; outputDimensionality?: number }[];
}

async function shown(request: object, answer: object): Promise<Record<string, unknown>> {
  const view = read({ model: 'm', input: 'two words', ...request }).viewWith?.({
    systemPrompt: null,
    toolNames: new Set(),
    kept: null,
  });
  const bytes = await view?.whole(Buffer.from(JSON.stringify(answer, null, 1)), 't', by);
  return JSON.parse(String(bytes)) as Record<string, unknown>;
}

describe('embeddings of OpenAI’s API, asked of Google’s', () => {
  it('have each text as it is written, and the dimensions', () => {
    expect(batchOf('{"model":"m","input" : "Gr\\u00f6\\ud800","dimensions": 3,"user":"u"}')).toBe(
      '{"requests":[{"model":"models/up/stream","content":{"parts":[{"text":"Gr\\u00f6\\ud800"}]},"outputDimensionality":3}]}',
    );
    expect(JSON.parse(batchOf({ model: 'm', input: 'x', dimensions: null }))).toEqual({
      requests: [{ model: 'models/up/stream', content: { parts: [{ text: 'x' }] } }],
    });
  });

  it('keep all texts in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (input) => {
        const { requests } = JSON.parse(batchOf({ model: 'm', input })) as Batch;
        expect(requests.map(({ content }) => content.parts.map(({ text }) => text))).toEqual(
          input.map((text) => [text]),
        );
      }),
    );
  });

  it.each([
    [{ input: [1, 2] }, 'input'],
    [{ input: [[1], [2]] }, 'input'],
    [{ input: ['a', 1] }, 'input'],
    [{ input: Array.from({ length: 2_049 }, () => 'a') }, 'input'],
    [{ input: 'a', encoding_format: 'hex' }, 'encoding_format'],
  ])('are refused for %j', (fields, param) => {
    const request = read({ model: 'm', ...fields });
    expect(request.refusalIn?.(by)).toMatchObject({ code: 'unsupported_parameter', param });
  });

  it('are asked in no API without embeddings', () => {
    const request = read({ model: 'm', input: ['a'], encoding_format: 'base64', dimensions: 2 });
    expect(request.refusalIn?.(by)).toBeNull();
    for (const api of ['messages', 'responses'] as const)
      expect(request.refusalIn?.({ ...by, api })).toMatchObject({
        code: 'unsupported_parameter',
        param: 'model',
      });
  });
});

describe('embeddings of Google’s API, shown as OpenAI’s', () => {
  const answer = { embeddings: [{ values: [0.5, -1e-7] }, { values: [2, 3] }] };

  it('have their numbers as they are, and the tokens that were reported', async () => {
    expect(await shown({}, { ...answer, usageMetadata: { promptTokenCount: 7 } })).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -1e-7] },
        { object: 'embedding', index: 1, embedding: [2, 3] },
      ],
      model: 'up',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  it('have an estimate of the tokens where none are reported', async () => {
    expect(await shown({}, answer)).toMatchObject({ usage: { prompt_tokens: 2, total_tokens: 2 } });
  });

  it('are 32-bit floats in Base64 for a client that asks for them', async () => {
    const { data } = await shown({ encoding_format: 'base64' }, answer);
    const [first] = data as { embedding: string }[];
    const bytes = Buffer.from(first?.embedding ?? '', 'base64');
    expect([bytes.length, bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([8, 0.5, Math.fround(-1e-7)]);
  });

  it('are as large as 100 vectors of 3,072 numbers', async () => {
    const values = Array.from({ length: 3_072 }, (_none, index) => Math.sin(index));
    const large = await shown({}, { embeddings: Array.from({ length: 100 }, () => ({ values })) });
    const bytes = Buffer.from(JSON.stringify(large));
    const vectors = await readEmbeddings(bytes, { texts: 100, tenantId: null });
    expect(vectors?.at(99)).toEqual(values);
  });

  it.each([
    [{}, { embeddings: {} }],
    [{}, { embeddings: [{}] }],
    [{}, { usageMetadata: {} }],
    [{ encoding_format: 'base64' }, { embeddings: [{ values: ['x'] }] }],
  ])('are none for %j in %j', async (request, odd) => {
    await expect(shown(request, odd)).rejects.toMatchObject({ code: 'provider_invalid_response' });
  });
});
