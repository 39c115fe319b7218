import { describe, expect, it } from '@jest/globals';
import { NoAnswer } from '../dialect.ts';
import { readWhole } from './whole-answer.ts';

type Fields = Record<string, unknown>;

const usageOf = (input: number, cached: number, output: number, reasoning: number): Fields => ({
  ...{ input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output },
  ...{ output_tokens_details: { reasoning_tokens: reasoning }, total_tokens: input + output },
});
const response = (output: readonly Fields[], fields: Fields = {}): Fields => ({
  ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'completed', error: null, model: 'gpt-x' },
  ...{ store: false, tools: [], output, usage: usageOf(5, 1, 3, 2), ...fields },
});
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const said = (text: string, id = 'msg_1'): Fields => ({
  ...{ id, type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const thought = (id = 'rs_1'): Fields => ({
  ...{ id, type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'enc' },
});
const callOf = (name: string, call_id: string, args = '{}'): Fields => ({
  ...{ id: `fc_${call_id}`, type: 'function_call', status: 'completed', call_id, name, arguments: args },
});

describe('a whole answer', () => {
  it('is read for usage, text and model', async () => {
    const whole = response([thought(), said('Hello'), { type: 'newer' }], { service_tier: 'flex' });
    expect(await readWhole(bytesOf(whole), { tenantId: null, keepsText: true })).toEqual({
      ...{ broken: null, responseModel: 'gpt-x', serviceTier: 'flex', text: 'Hello' },
      answer: { beginning: 'hmHello', chars: 7 },
      usage: {
        ...{ inputTokens: 5, cachedInputTokens: 1, cacheWriteTokens: 0, outputTokens: 3 },
        ...{ reasoningTokens: 2, estimated: false },
      },
    });
  });

  it('that calls tools is not yet the answer that is kept', async () => {
    const whole = response([said('Let me see.'), callOf('a', 't', '{"q":1}')]);
    const read = await readWhole(bytesOf(whole), { tenantId: null, keepsText: true });
    expect([read.text, read.answer.beginning]).toEqual(['', 'Let me see.a{"q":1}']);
  });

  it.each([
    [{ error: { type: 'invalid_request_error', message: 'x' } }, 'x'],
    [{ error: { type: 'rate_limit_error', message: 'org-1 waits' } }, undefined],
    [response([], { status: 'failed', error: { code: 'server_error', message: 'y' } }), undefined],
    [response([], { status: 'failed' }), undefined],
    [{ choices: [{ message: { content: 'another API' } }] }, undefined],
    [[1], undefined],
    ['text', undefined],
  ])('%j is none', async (value, words) => {
    const error: unknown = await readWhole(bytesOf(value), { tenantId: null }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(NoAnswer);
    expect((error as NoAnswer).error?.message).toBe(words);
  });

  it('that is too large to be parsed at once is read by its members', async () => {
    const picture = { type: 'image_generation_call', result: 'x'.repeat(13 * 2 ** 20) };
    const large = response([said('beginning'), picture]);
    const read = await readWhole(bytesOf(large), { tenantId: null, keepsText: true });
    expect(read).toMatchObject({ usage: { outputTokens: 3 }, text: 'beginning', responseModel: 'gpt-x' });
    expect(read.answer.chars).toBeGreaterThan(13 * 2 ** 20);
  });
});
