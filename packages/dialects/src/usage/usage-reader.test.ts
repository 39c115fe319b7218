import { describe, expect, it } from '@jest/globals';
import { readServiceTier, readUsage } from './usage-reader.ts';
import { noUsage, partsOf, type UsageParts } from './usage.ts';

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
    [{ completion_tokens: 5 }, [0, 0, 5, 0]],
    [{ prompt_tokens: 10, total_tokens: 14 }, [10, 0, 4, 0]],
    [{ completion_tokens: 5, total_tokens: 14 }, [9, 0, 5, 0]],
    [{ prompt_tokens: 0, total_tokens: 14 }, [14, 0, 0, 0]],
    [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 14 }, [0, 0, 0, 0]],
    [{ output_tokens: 5 }, [0, 0, 5, 0]],
    [{ prompt_tokens: 10, prompt_cache_hit_tokens: 9, prompt_cache_miss_tokens: 1 }, [10, 9, 0, 0]],
    [{ prompt_tokens: 10, cached_tokens: 9 }, [10, 9, 0, 0]],
    [{ prompt_tokens: 10, cached_tokens: 9, prompt_tokens_details: { cached_tokens: 0 } }, [10, 9, 0, 0]],
    [{ inputTokens: 1, outputTokens: 2, cacheReadInputTokens: 9 }, [10, 9, 2, 0]],
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
    { completion_tokens: '5' },
    { prompt_tokens: '5' },
    { total_tokens: 5 },
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

/** The classes that have tokens. */
function classesOf(value: unknown): Partial<UsageParts> {
  const parts = partsOf(readUsage(value) ?? noUsage);
  return Object.fromEntries(Object.entries(parts).filter(([, tokens]) => tokens > 0));
}

describe('usage in classes, none of which contains another', () => {
  it('is none where it has zeros alone in the shape of Anthropic', () => {
    expect(readUsage({ input_tokens: 0, output_tokens: 0 })).toBeNull();
    expect(readUsage({ input_tokens: 0, output_tokens: 1 })).toMatchObject({ outputTokens: 1 });
  });

  it.each<[string, object, Partial<UsageParts>]>([
    [
      'OpenAI',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      { input: 70, cachedInput: 30, output: 30, reasoning: 20 },
    ],
    [
      'a provider that counts reasoning on top',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 170,
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      { input: 100, output: 50, reasoning: 20 },
    ],
    [
      'a provider that reports reasoning in the total alone',
      { prompt_tokens: 10, completion_tokens: 20, total_tokens: 530 },
      { input: 10, output: 20, reasoning: 500 },
    ],
    [
      'a provider whose total is too small',
      { prompt_tokens: 10, completion_tokens: 20, total_tokens: 5 },
      { input: 10, output: 20 },
    ],
    [
      'OpenAI, contradicting itself',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 9, audio_tokens: 99 },
        completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 7 },
      },
      { cachedInputAudio: 10, reasoning: 5 },
    ],
    [
      'OpenAI with cache writes',
      {
        prompt_tokens: 3_300,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 3_207 },
      },
      { input: 93, cacheWrite: 3_207, output: 5 },
    ],
    [
      'OpenAI with audio and images',
      {
        prompt_tokens: 1_000,
        completion_tokens: 500,
        total_tokens: 1_500,
        prompt_tokens_details: { cached_tokens: 300, audio_tokens: 200, image_tokens: 400, text_tokens: 400 },
        completion_tokens_details: { reasoning_tokens: 50, audio_tokens: 300, text_tokens: 150 },
      },
      {
        input: 100,
        cachedInput: 300,
        inputAudio: 200,
        inputImage: 400,
        output: 150,
        reasoning: 50,
        outputAudio: 300,
      },
    ],
    [
      'OpenAI with more cached tokens than there is text',
      {
        prompt_tokens: 1_000,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 700, audio_tokens: 400, image_tokens: 200 },
      },
      { cachedInput: 400, cachedInputImage: 200, inputAudio: 300, cachedInputAudio: 100 },
    ],
    [
      'OpenAI with the kinds of cached tokens',
      {
        total_tokens: 1_050,
        input_tokens: 1_000,
        output_tokens: 50,
        input_token_details: {
          ...{ text_tokens: 500, audio_tokens: 300, image_tokens: 200, cached_tokens: 350 },
          cached_tokens_details: { text_tokens: 100, audio_tokens: 200, image_tokens: 50 },
        },
        output_token_details: { text_tokens: 20, audio_tokens: 30 },
      },
      {
        ...{ input: 400, cachedInput: 100, inputAudio: 100, cachedInputAudio: 200 },
        ...{ inputImage: 150, cachedInputImage: 50, output: 20, outputAudio: 30 },
      },
    ],
    [
      'OpenAI with pictures in the answer',
      {
        prompt_tokens: 10,
        completion_tokens: 1_300,
        completion_tokens_details: { image_tokens: 1_290, text_tokens: 10 },
      },
      { input: 10, output: 10, outputImage: 1_290 },
    ],
    [
      "OpenAI's Responses",
      {
        input_tokens: 20_000,
        input_tokens_details: { cached_tokens: 18_011 },
        output_tokens: 500,
        output_tokens_details: { reasoning_tokens: 448 },
        total_tokens: 20_500,
      },
      { input: 1_989, cachedInput: 18_011, output: 52, reasoning: 448 },
    ],
    [
      "OpenAI's Responses with cache writes and without a total",
      {
        input_tokens: 4_000,
        input_tokens_details: { cached_tokens: 500, cache_write_tokens: 3_207 },
        output_tokens: 5,
      },
      { input: 293, cachedInput: 500, cacheWrite: 3_207, output: 5 },
    ],
    [
      'Responses with reasoning in the total alone',
      { input_tokens: 10, output_tokens: 20, total_tokens: 530 },
      { input: 10, output: 20, reasoning: 500 },
    ],
    [
      'Anthropic',
      { input_tokens: 7, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 50 },
      { input: 7, cachedInput: 30, cacheWrite: 5, output: 50 },
    ],
    [
      'Anthropic with cache writes of both times, and thinking',
      {
        input_tokens: 7,
        cache_read_input_tokens: 30,
        cache_creation_input_tokens: 500,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
        output_tokens: 50,
        output_tokens_details: { thinking_tokens: 40 },
        service_tier: 'standard',
      },
      { input: 7, cachedInput: 30, cacheWrite: 100, cacheWrite1h: 400, output: 10, reasoning: 40 },
    ],
    [
      'Anthropic with the times of cache writes alone',
      {
        input_tokens: 7,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
        output_tokens: 50,
      },
      { input: 7, cacheWrite: 100, cacheWrite1h: 400, output: 50 },
    ],
    [
      'Anthropic, contradicting itself',
      {
        input_tokens: 7,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
        output_tokens: 1,
      },
      { input: 7, cacheWrite1h: 5, output: 1 },
    ],
    [
      'Anthropic behind a proxy that adds a total of everything',
      { input_tokens: 7, cache_read_input_tokens: 30, output_tokens: 50, total_tokens: 87 },
      { input: 7, cachedInput: 30, output: 50 },
    ],
    [
      'Anthropic behind a proxy that adds a total of two',
      { input_tokens: 7, cache_read_input_tokens: 30, output_tokens: 50, total_tokens: 57 },
      { input: 7, cachedInput: 30, output: 50 },
    ],
    [
      'a proxy whose input includes what Anthropic read from the cache',
      { input_tokens: 37, cache_read_input_tokens: 30, output_tokens: 50, total_tokens: 87 },
      { input: 7, cachedInput: 30, output: 50 },
    ],
    [
      "a proxy that keeps Anthropic's names beside OpenAI's",
      {
        prompt_tokens: 542,
        completion_tokens: 50,
        total_tokens: 592,
        prompt_tokens_details: { cached_tokens: 30 },
        cache_read_input_tokens: 30,
        cache_creation_input_tokens: 500,
        cache_creation: { ephemeral_1h_input_tokens: 400 },
      },
      { input: 12, cachedInput: 30, cacheWrite: 100, cacheWrite1h: 400, output: 50 },
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
      { input: 78, cachedInput: 30, output: 50, reasoning: 20 },
    ],
    [
      'Google with modalities',
      {
        promptTokenCount: 1_000,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'IMAGE', tokenCount: 258 },
          { modality: 'DOCUMENT', tokenCount: 242 },
          { modality: 'AUDIO', tokenCount: 300 },
          { modality: 'VIDEO', tokenCount: 100 },
          null,
          { modality: 'SMELL', tokenCount: 7 },
        ],
        cachedContentTokenCount: 250,
        cacheTokensDetails: [
          { modality: 'AUDIO', tokenCount: 200 },
          { modality: 'TEXT', tokenCount: 50 },
        ],
        toolUsePromptTokenCount: 40,
        toolUsePromptTokensDetails: [{ modality: 'IMAGE', tokenCount: 40 }],
        candidatesTokenCount: 1_300,
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }],
        thoughtsTokenCount: 20,
      },
      {
        ...{ input: 50, cachedInput: 50, inputAudio: 100, cachedInputAudio: 200 },
        ...{ inputImage: 540, inputVideo: 100, output: 10, reasoning: 20, outputImage: 1_290 },
      },
    ],
  ])('of %s', (_name, reported, parts) => {
    expect(classesOf(reported)).toEqual(parts);
  });
});

describe('the service tier of an answer', () => {
  it.each<[object, string | null]>([
    [{}, null],
    [{ service_tier: null, usage: null }, null],
    [{ service_tier: 7, usage: { service_tier: '' } }, null],
    [{ service_tier: 'flex', usage: {} }, 'flex'],
    [{ usage: { service_tier: 'batch' } }, 'batch'],
    [{ service_tier: 'x'.repeat(100_000) }, 'x'.repeat(64)],
  ])('of %j', (answer, tier) => {
    expect(readServiceTier(answer as Record<string, unknown>)).toBe(tier);
  });
});
