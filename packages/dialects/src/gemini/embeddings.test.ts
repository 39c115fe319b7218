import { describe, expect, it } from '@jest/globals';
import type { CompletionRequest, Rewrite } from '../dialect.ts';
import { readRequest } from './request.ts';
import { readWhole } from './response.ts';

const rewrite: Rewrite = {
  ...{ model: 'upstream', includeUsage: false, systemPrompt: null, reference: null, defaults: {} },
  ...{ maxTokens: null, tools: null },
};

function read(body: unknown, isBatch: boolean): CompletionRequest {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readRequest('embeddings', Buffer.from(text), JSON.parse(text), {
    model: 'm',
    stream: false,
    isBatch,
  });
}

const rewritten = (text: string, isBatch: boolean): string =>
  read(text, isBatch)
    .source({ release: () => undefined })
    .rewritten(rewrite)
    .toString();

const content = (text: string) => ({ parts: [{ text }] });

describe('a request for embeddings', () => {
  it.each([
    [{}, false, 'missing_required_parameter', 'content'],
    [{ content: null }, false, 'missing_required_parameter', 'content'],
    [{ content: 'x' }, false, 'invalid_type', 'content'],
    [{ content: { parts: 'x' } }, false, 'invalid_type', 'content.parts'],
    [{ content: {}, task_type: {} }, false, 'invalid_type', 'task_type'],
    [
      { content: {}, output_dimensionality: 1, outputDimensionality: 2 },
      false,
      'invalid_value',
      'outputDimensionality',
    ],
    [{}, true, 'missing_required_parameter', 'requests'],
    [{ requests: [] }, true, 'invalid_value', 'requests'],
    [{ requests: Array.from({ length: 2_049 }, () => ({ content: {} })) }, true, 'invalid_value', 'requests'],
    [{ requests: [1] }, true, 'invalid_type', 'requests[0]'],
    [{ requests: [{ content: {} }, {}] }, true, 'missing_required_parameter', 'requests[1].content'],
  ])('%j is refused (batch: %j)', (body, isBatch, code, param) => {
    expect(() => read(body, isBatch)).toThrow(expect.objectContaining({ code, param }));
  });

  it('has the texts of its contents, and pictures among them', () => {
    const picture = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const requests = [{ content: content('one') }, { content: { parts: [{ text: 'two' }, picture] } }];
    const batch = read({ requests }, true);
    expect([batch.inputPreview(100), batch.inputPreview(5), batch.promptSample().beginning]).toEqual([
      'one\ntwo',
      'one\nt',
      'onetwo',
    ]);
    expect(batch.requestedAmounts({})).toMatchObject({ attachments: { count: 1, bytes: 4 }, classes: [] });
    expect(read({ content: content('x') }, false)).toMatchObject({ operation: 'embeddings', isBatch: false });
  });

  it('stays byte for byte but for the name of its model', () => {
    expect(
      rewritten('{ "content":{"parts":[{"text":"\\ud800"}]},"model" : "models/m", "newer":1.0}', false),
    ).toBe('{ "content":{"parts":[{"text":"\\ud800"}]},"model" : "models/upstream", "newer":1.0}');
    expect(
      rewritten('{"requests":[ {"model":"m","content":{}}, {"content":{"model":"m"}} ],"x":[]}', true),
    ).toBe('{"requests":[ {"model":"upstream","content":{}}, {"content":{"model":"m"}} ],"x":[]}');
    expect(rewritten('{"requests":{"model":"models/m","content":{}}}', true)).toBe(
      '{"requests":{"model":"models/upstream","content":{}}}',
    );
  });
});

describe('an answer with embeddings', () => {
  const values = [0.1, 2];

  it.each([
    ['one', { embedding: { values } }],
    ['several', { embeddings: [{ values }, { values }] }],
    ['very many', { embeddings: [{ values: Array.from({ length: 400_000 }, (_none, index) => index / 7) }] }],
  ])('is read: %s', async (_name, answer) => {
    const usageMetadata = { promptTokenCount: 7 };
    const read = await readWhole(Buffer.from(JSON.stringify({ ...answer, usageMetadata })), {
      tenantId: null,
    });
    expect(read).toMatchObject({ broken: null, usage: { inputTokens: 7, outputTokens: 0 } });
    const unmetered = await readWhole(Buffer.from(JSON.stringify(answer)), { tenantId: null });
    expect(unmetered.usage).toBeNull();
  });

  it('is none without vectors', async () => {
    await expect(readWhole(Buffer.from('{"embeddings":[]}'), { tenantId: null })).rejects.toThrow();
  });
});
