import { describe, expect, it } from '@jest/globals';
import type { WholeAnswer } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { ProviderFailure } from './provider-failure.ts';
import { readUnaryAnswer } from './unary-handler.ts';

const acme = { name: 'acme', format: dialects.chat };

describe('a whole answer', () => {
  const read = async (value: unknown): Promise<WholeAnswer> =>
    readUnaryAnswer(acme, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), {
      tenantId: null,
    });

  it('is read for model, usage and text', async () => {
    const choices = [
      { message: { content: 'a' } },
      { message: { content: null, tool_calls: [{ function: { name: 'f', arguments: '{}' } }] } },
    ];
    expect(
      await read({ model: 'm-1', usage: { prompt_tokens: 3, completion_tokens: 2 }, choices }),
    ).toMatchObject({
      responseModel: 'm-1',
      usage: { inputTokens: 3, outputTokens: 2 },
      answer: { beginning: 'a\nf{}', chars: 5 },
    });
    expect(await read({ data: [{ embedding: [1] }], error: null, service_tier: 'flex' })).toEqual({
      responseModel: null,
      usage: null,
      serviceTier: 'flex',
      answer: { beginning: '', chars: 0 },
      text: '',
      broken: null,
    });
    const odd = [null, 7, {}, { message: null }, { message: { content: '' }, finish_reason: 'stop' }];
    expect(await read({ choices: odd, usage: 'x', error: {} })).toMatchObject({ usage: null, broken: null });
  });

  it('gives what the model says in its first choice, where that is kept', async () => {
    const said = async (choices: unknown[], keepsText = true): Promise<string> => {
      const bytes = Buffer.from(JSON.stringify({ choices }));
      return (await readUnaryAnswer(acme, bytes, { tenantId: null, keepsText })).text;
    };
    const message = { content: 'Hello.', reasoning_content: 'Hm.', refusal: 'No.' };
    expect(await said([{ message }, { message: { content: 'Other.' } }])).toBe('Hello.');
    expect(await said([{ message }], false)).toBe('');
    for (const choice of [null, 7, {}, { message: null }, { message: { content: null } }])
      expect(await said([choice, { message: { content: 'Other.' } }])).toBe('');
    expect(await said([{ message: { content: [{ type: 'text', text: 'Hello.' }] } }])).toBe('Hello.');
    expect(await said([{ message: { content: 'x'.repeat(100_000) } }])).toHaveLength(32_768);
  });

  it('that broke off says why', async () => {
    const message = { role: 'assistant', content: '{"events": [' };
    const usage = { prompt_tokens: null, completion_tokens: null, total_tokens: 0 };
    const broken = (choice: object) => read({ choices: [{ message, ...choice }], usage });
    expect(await broken({ finish_reason: 'error', error: { code: 502, message: 'lost' } })).toMatchObject({
      ...{ broken: { message: 'lost', status: 502 }, usage: null },
      answer: { beginning: message.content },
    });
    expect((await broken({ finish_reason: 'error' })).broken).not.toBeNull();
    expect((await broken({ finish_reason: 'length' })).broken).toBeNull();
  });

  it.each<[unknown, number]>([
    [{ error: { message: 'slow', code: 429 } }, 429],
    [{ error: { message: 'slow', type: 'rate_limit_error' } }, 429],
    [{ choices: [{ message: null, error: { code: 429, message: 'slow' } }] }, 429],
    [{ error: { message: 'too long', code: 'context_length_exceeded' } }, 400],
  ])('with an error in place of the status has that status: %j', async (value, status) => {
    await expect(read(value)).rejects.toMatchObject({ kind: 'status', details: { status } });
  });

  it.each<[unknown, string]>([
    ['', 'invalid'],
    ['{"choices":[', 'invalid'],
    ['<html>', 'invalid'],
    [[], 'invalid'],
    [null, 'invalid'],
    [{}, 'invalid'],
    [{ choices: {} }, 'invalid'],
    [{ error: { message: 'overloaded' } }, 'status'],
    [{ error: 'x', choices: [] }, 'status'],
    [{ choices: [] }, 'invalid'],
    [{ choices: null }, 'invalid'],
    [{ choices: [{ index: 0, message: null, finish_reason: null }] }, 'invalid'],
    [{ data: [] }, 'invalid'],
    [{ object: 'error', message: 'died', code: 500 }, 'status'],
    [{ detail: 'Not Found' }, 'status'],
  ])('that is none is a failure of the provider: %j', async (value, kind) => {
    let failure: unknown;
    try {
      await read(value);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(ProviderFailure);
    expect(failure).toMatchObject({ kind, fallbackHelps: true });
    expect((failure as ProviderFailure).toAppError().status).toBe(502);
  });
});
