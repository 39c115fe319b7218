import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { estimateTokens, guessTokens, sampleOf } from './token-estimate.ts';
import { readUsage } from './usage-reader.ts';
import {
  inputClasses,
  noUsage,
  outputClasses,
  partsOf,
  sumUsage,
  type Usage,
  type UsageParts,
} from './usage.ts';

describe('usage in classes', () => {
  const amount = fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 1e12 }), fc.constantFrom(null, -1, 'x', 1.5));
  const object = (names: string[]) =>
    fc.option(fc.record(Object.fromEntries(names.map((name) => [name, amount])), { requiredKeys: [] }));
  const details = object([
    ...['cached_tokens', 'cache_write_tokens', 'audio_tokens', 'image_tokens', 'video_tokens'],
    ...['text_tokens', 'reasoning_tokens', 'thinking_tokens'],
  ]);
  const modalities = fc.array(
    fc.record({ modality: fc.constantFrom('TEXT', 'IMAGE', 'AUDIO', 'VIDEO', 7), tokenCount: amount }),
    { maxLength: 6 },
  );
  const reports = fc.oneof(
    fc.record(
      {
        prompt_tokens: amount,
        completion_tokens: amount,
        total_tokens: amount,
        prompt_tokens_details: details,
        completion_tokens_details: details,
        cache_read_input_tokens: amount,
        cache_creation_input_tokens: amount,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        input_tokens: amount,
        output_tokens: amount,
        total_tokens: amount,
        input_tokens_details: details,
        output_tokens_details: details,
        cache_read_input_tokens: amount,
        cache_creation_input_tokens: amount,
        cache_creation: object(['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        promptTokenCount: amount,
        toolUsePromptTokenCount: amount,
        candidatesTokenCount: amount,
        thoughtsTokenCount: amount,
        cachedContentTokenCount: amount,
        promptTokensDetails: modalities,
        cacheTokensDetails: modalities,
        candidatesTokensDetails: modalities,
      },
      { requiredKeys: [] },
    ),
  );

  it('is never negative and adds up to the totals, whatever a provider reports', () => {
    fc.assert(
      fc.property(reports, (report) => {
        const usage = readUsage(report);
        if (usage === null) return;
        const parts = partsOf(usage);
        const sum = (names: readonly (keyof UsageParts)[]) =>
          names.reduce((total, name) => total + parts[name], 0);
        expect(Math.min(...Object.values(parts))).toBeGreaterThanOrEqual(0);
        expect(sum(inputClasses)).toBe(usage.inputTokens);
        expect(sum(outputClasses)).toBe(usage.outputTokens);
        expect(sum(['cachedInput', 'cachedInputAudio', 'cachedInputImage', 'cachedInputVideo'])).toBe(
          usage.cachedInputTokens,
        );
        expect(sum(['cacheWrite', 'cacheWrite1h'])).toBe(usage.cacheWriteTokens);
        expect(parts.reasoning).toBe(usage.reasoningTokens);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same from Chat Completions and from Responses', () => {
    const tokens = fc.nat({ max: 100_000 });
    fc.assert(
      fc.property(tokens, tokens, details, details, (input, output, inputDetails, outputDetails) => {
        expect(
          readUsage({
            input_tokens: input,
            output_tokens: output,
            total_tokens: input + output,
            input_tokens_details: inputDetails ?? {},
            output_tokens_details: outputDetails,
          }),
        ).toEqual(
          readUsage({
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input + output,
            prompt_tokens_details: inputDetails,
            completion_tokens_details: outputDetails,
          }),
        );
      }),
    );
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
    expect(await estimateTokens(sampleOf(text), 't')).toBe(tokens);
  });

  it('is near the truth for long text, and grows with it', async () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    const each = await estimateTokens(sampleOf(sentence), 't');
    const long = await estimateTokens(sampleOf(sentence.repeat(2_000)), 't');
    expect(long / (each * 2_000)).toBeGreaterThan(0.9);
    expect(long / (each * 2_000)).toBeLessThan(1.1);
  });

  it.each(['x', '你', '\n', 'é', '"\\', '🎉', '<|endoftext|>', '\ud800'])(
    'of a long run of %j does not hold the process',
    async (piece) => {
      await estimateTokens(sampleOf('warm'), 't');
      const began = performance.now();
      expect(await estimateTokens(sampleOf(piece.repeat(1_000_000)), 't')).toBeGreaterThan(1_000);
      expect(performance.now() - began).toBeLessThan(5_000);
    },
  );

  it('is there for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        const tokens = await estimateTokens(sampleOf(text), 't');
        expect(Number.isSafeInteger(tokens) && tokens >= (text === '' ? 0 : 1)).toBe(true);
      }),
    );
  });

  it('without a text is a token for four bytes', () => {
    expect([0, 1, 4, 5, 4_000].map(guessTokens)).toEqual([0, 1, 1, 2, 1_000]);
  });
});
