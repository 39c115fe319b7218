import { ReadableStream as NodeStream } from 'node:stream/web';
import { describe, expect, it } from '@jest/globals';
import { ApiError, errorIn, isRefusal } from './api-error.ts';
import { urlOf } from './call.ts';
import { nothingYet, withChunk } from './completion.ts';
import { dataOf } from './server-events.ts';

describe('the URL of an endpoint', () => {
  it('has its parameters encoded, without empty ones', () => {
    expect(urlOf('/v1/users/{user_id}/data', { user_id: 'a/b?c#d' }, {})).toBe(
      '/v1/users/a%2Fb%3Fc%23d/data',
    );
    expect(urlOf('/v1/agents', {}, { q: 'é&', cursor: '', status: undefined })).toBe(
      '/v1/agents?q=%C3%A9%26',
    );
  });

  it('keeps the slashes of a parameter that stands for several segments', () => {
    expect(urlOf('/documents/{path+}', { path: 'a b/c?.md' }, {})).toBe('/documents/a%20b/c%3F.md');
  });
});

describe('an error', () => {
  it('has the words of the API', () => {
    const body = { error: { message: 'No.', code: 'scope_missing', request_id: 'r1' } };
    expect(errorIn(JSON.stringify(body), { status: 403, requestId: null })).toMatchObject({
      ...{ message: 'No.', code: 'scope_missing', requestId: 'r1', status: 403 },
    });
  });

  it.each(['', '<html>', 'null', '[]', '"x"'])(
    'of something before the gateway that says %p has its status',
    (text) => {
      const error = errorIn(text, { status: 502, requestId: 'r2' });
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status: 502, code: 'unknown', requestId: 'r2' });
    },
  );
});

describe('a repeat of a change', () => {
  const error = (status: number, code: string) => new ApiError('No.', { status, code });

  it.each([
    [0, 'unreachable', false],
    [502, 'bad_gateway', false],
    [503, 'service_unavailable', false],
    [409, 'idempotency_in_progress', false],
    [400, 'invalid_value', true],
    [429, 'rate_limit_exceeded', true],
  ])('after %d %s is another change: %p', (status, code, isAnother) => {
    expect(isRefusal(error(status, code))).toBe(isAnother);
  });
});

describe('server-sent events', () => {
  const read = async (pieces: readonly string[]): Promise<string[]> => {
    const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
    return Array.fromAsync(dataOf(NodeStream.from(bytes) as ReadableStream<Uint8Array>));
  };

  it('are read whole, however the stream is cut', async () => {
    const text = ': comment\n\ndata: {"a":"é"}\n\ndata:x\r\n\r\ndata: 1\ndata: 2\n\n';
    const whole = ['{"a":"é"}', 'x', '1\n2'];
    expect(await read([text])).toEqual(whole);
    expect(await read(text.split(''))).toEqual(whole);
  });

  it('drop one that the end cuts', async () => {
    expect(await read(['data: 1\n\ndata: 2'])).toEqual(['1']);
  });
});

describe('a completion', () => {
  it('grows by its chunks, with calls of tools', () => {
    const chunks = [
      { choices: [{ delta: { content: 'Hel' } }] },
      { choices: [{ delta: { content: 'lo' } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: '{"a"' } }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
      { choices: [] },
    ];
    expect(chunks.reduce(withChunk, nothingYet)).toEqual({
      text: 'Hello',
      toolCalls: [{ name: 'f', arguments: '{"a":1}' }],
      finishReason: 'tool_calls',
    });
  });
});
