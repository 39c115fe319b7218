import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { estimateTokens, guessTokens, sampleOf } from './token-estimate.ts';
import { readUnaryAnswer } from './unary-answer.ts';
import { noUsage, partsOf, readUsage, sumUsage, type Usage } from './usage.ts';
import { ProviderFailure } from './provider-failure.ts';

describe('usage that a provider reports', () => {
  it('is read with its details', () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    expect(readUsage({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...details })).toEqual({
      inputTokens: 10,
      cachedInputTokens: 4,
      cacheWriteTokens: 0,
      outputTokens: 5,
      reasoningTokens: 2,
      estimated: false,
    });
  });

  it.each<[unknown, number[]]>([
    [{ prompt_tokens: 10 }, [10, 0, 0, 0]],
    [{ prompt_tokens: 0, completion_tokens: 0 }, [0, 0, 0, 0]],
    [{ prompt_tokens: 1, completion_tokens: null, prompt_tokens_details: null }, [1, 0, 0, 0]],
    [{ prompt_tokens: 1, completion_tokens: -3, completion_tokens_details: 'x' }, [1, 0, 0, 0]],
    [{ prompt_tokens: 1, prompt_tokens_details: { cached_tokens: 1.5 } }, [1, 0, 0, 0]],
  ])(
    '%j counts as far as it can be counted',
    (value, [inputTokens, cachedInputTokens, outputTokens, reasoningTokens]) => {
      expect(readUsage(value)).toMatchObject({
        inputTokens,
        cachedInputTokens,
        outputTokens,
        reasoningTokens,
      });
    },
  );

  it.each([
    null,
    undefined,
    7,
    'x',
    [],
    {},
    { completion_tokens: 5 },
    { prompt_tokens: '5' },
    { prompt_tokens: -1 },
    { prompt_tokens: 1.5 },
    { prompt_tokens: 1e300 },
    { prompt_tokens: 2 ** 50 },
    { input_tokens: '5' },
    { promptTokenCount: -1 },
  ])('%j says nothing', (value) => {
    expect(readUsage(value)).toBeNull();
  });
});

/** Uncached input, cached input, cache writes, output without reasoning, reasoning. */
type Parts = [number, number, number, number, number];

describe('usage in parts, none of which holds another', () => {
  it.each<[string, object, Parts]>([
    [
      'OpenAI',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      [70, 30, 0, 30, 20],
    ],
    [
      'a provider that counts reasoning on top',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 170,
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      [100, 0, 0, 50, 20],
    ],
    [
      'a provider that tells of reasoning in the total alone',
      { prompt_tokens: 10, completion_tokens: 20, total_tokens: 530 },
      [10, 0, 0, 20, 500],
    ],
    [
      'a provider whose total is too small',
      { prompt_tokens: 10, completion_tokens: 20, total_tokens: 5 },
      [10, 0, 0, 20, 0],
    ],
    [
      'OpenAI, contradicting itself',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 9 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      [0, 10, 0, 0, 5],
    ],
    [
      'Anthropic',
      { input_tokens: 7, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 50 },
      [7, 30, 5, 50, 0],
    ],
    [
      'Google',
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 30,
        toolUsePromptTokenCount: 8,
        candidatesTokenCount: 50,
        thoughtsTokenCount: 20,
      },
      [78, 30, 0, 50, 20],
    ],
  ])('of %s', (_name, told, parts) => {
    const usage = readUsage(told) ?? noUsage;
    expect(Object.values(partsOf(usage))).toEqual(parts);
  });
});

it('the usage of a run is the sum of its calls, estimated if one of them is', () => {
  const one = (fields: Partial<Usage>): Usage => ({ ...noUsage, ...fields });
  expect(sumUsage([])).toEqual(noUsage);
  const parts = [
    one({ inputTokens: 1, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 4 }),
    one({ inputTokens: 10, cacheWriteTokens: 7, estimated: true }),
    one({ outputTokens: 5 }),
  ];
  expect(sumUsage(parts)).toEqual({
    inputTokens: 11,
    cachedInputTokens: 2,
    cacheWriteTokens: 7,
    outputTokens: 8,
    reasoningTokens: 4,
    estimated: true,
  });
  expect(noUsage.inputTokens).toBe(0);
});

describe('an estimate of tokens', () => {
  it.each([
    ['', 0],
    ['hello', 1],
    ['Hello, world!', 4],
    ['tiktoken is great!', 6],
    // Text, not the token that it names.
    ['<|endoftext|>', 7],
    ['\ud800', 1],
  ])('of %j is %i', async (text, tokens) => {
    expect(await estimateTokens(sampleOf(text))).toBe(tokens);
  });

  it('is near the truth for long text, and grows with it', async () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    const each = await estimateTokens(sampleOf(sentence));
    const long = await estimateTokens(sampleOf(sentence.repeat(2_000)));
    expect(long / (each * 2_000)).toBeGreaterThan(0.9);
    expect(long / (each * 2_000)).toBeLessThan(1.1);
  });

  it.each(['x', '你', '\n', 'é', '"\\', '🎉', '<|endoftext|>', '\ud800'])(
    'of a long run of %j does not hold the process',
    async (piece) => {
      await estimateTokens(sampleOf('warm'));
      const began = performance.now();
      expect(await estimateTokens(sampleOf(piece.repeat(1_000_000)))).toBeGreaterThan(1_000);
      expect(performance.now() - began).toBeLessThan(5_000);
    },
  );

  it('is there for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        const tokens = await estimateTokens(sampleOf(text));
        expect(Number.isSafeInteger(tokens) && tokens >= (text === '' ? 0 : 1)).toBe(true);
      }),
    );
  });

  it('without a text is a token for four bytes', () => {
    expect([0, 1, 4, 5, 4_000].map(guessTokens)).toEqual([0, 1, 1, 2, 1_000]);
  });
});

describe('a whole answer', () => {
  const read = (value: unknown): ReturnType<typeof readUnaryAnswer> =>
    readUnaryAnswer('acme', Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

  it('is read for model, usage and text', () => {
    const choices = [
      { message: { content: 'a' } },
      { message: { content: null, tool_calls: [{ function: { name: 'f', arguments: '{}' } }] } },
    ];
    expect(read({ model: 'm-1', usage: { prompt_tokens: 3, completion_tokens: 2 }, choices })).toMatchObject({
      responseModel: 'm-1',
      usage: { inputTokens: 3, outputTokens: 2 },
      answer: { beginning: 'a\nf{}', chars: 5 },
    });
    expect(read({ data: [{ embedding: [1] }], error: null })).toEqual({
      responseModel: null,
      usage: null,
      answer: { beginning: '', chars: 0 },
    });
    expect(read({ choices: [null, 7, {}, { message: null }], usage: 'x' })).toMatchObject({ usage: null });
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
  ])('that is none is a failure of the provider: %j', (value, kind) => {
    let failure: unknown;
    try {
      read(value);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(ProviderFailure);
    expect(failure).toMatchObject({ kind, fallbackHelps: true });
    expect((failure as ProviderFailure).toAppError().status).toBe(502);
  });
});
