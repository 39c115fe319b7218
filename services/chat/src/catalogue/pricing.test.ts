import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Catalogue, type Model } from './catalogue.ts';
import { Pricing } from './pricing.ts';
import { readUsage } from '@gatehouse/dialects/usage/usage-reader';
import {
  inputClasses,
  noUsage,
  outputClasses,
  tokenClasses,
  type TokenClass,
  type Usage,
  type UsageParts,
} from '@gatehouse/dialects/usage/usage';

const openai = { name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' } as const;
const local = { name: 'local', kind: 'openai', base_url: 'http://127.0.0.1:9/v1' } as const;
const anthropic = { name: 'anthropic', kind: 'openai', base_url: 'https://api.anthropic.com/v1' } as const;
const google = {
  name: 'google',
  kind: 'openai',
  base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
} as const;
const catalogue = Catalogue.parse({
  providers: [openai, anthropic, google, local],
  models: [
    {
      id: 'own',
      provider: 'openai',
      upstream_model: 'gpt-4o',
      price: { input_per_mtok: 1, output_per_mtok: '2' },
    },
    { id: 'public', provider: 'openai', upstream_model: 'gpt-4o' },
    { id: 'embedding', provider: 'openai', upstream_model: 'text-embedding-3-small' },
    { id: 'private', provider: 'local', upstream_model: 'gpt-4o' },
    { id: 'new', provider: 'openai', upstream_model: 'no-such-model' },
    { id: 'gpt-5.6', provider: 'openai' },
    { id: 'gpt-audio', provider: 'openai' },
    { id: 'gpt-4o-audio-preview', provider: 'openai' },
    { id: 'claude-sonnet-4-5', provider: 'anthropic' },
    { id: 'claude-haiku-4-5', provider: 'anthropic', price: { input_per_mtok: 2, output_per_mtok: 9 } },
    { id: 'gemini-2.5-flash', provider: 'google' },
    { id: 'gemini-2.5-flash-image', provider: 'google' },
    {
      id: 'whole',
      provider: 'local',
      price: {
        ...{ input_per_mtok: 2, cached_input_per_mtok: '0.2', output_per_mtok: 8, reasoning_per_mtok: 9 },
        ...{ cache_write_per_mtok: '2.5', cache_write_1h_per_mtok: 4, per_call_usd: '0.01' },
        ...{ input_audio_per_mtok: 40, cached_input_audio_per_mtok: 10, output_audio_per_mtok: 80 },
        ...{ input_image_per_mtok: 3, cached_input_image_per_mtok: '0.3', output_image_per_mtok: 30 },
        ...{ input_video_per_mtok: 5, cached_input_video_per_mtok: '0.5', output_video_per_mtok: 50 },
        above: [
          { input_tokens: 3_000_000, input_per_mtok: 6, output_per_mtok: 16 },
          { input_tokens: 2_000_000, input_per_mtok: 4, output_per_mtok: 12, cache_write_per_mtok: 5 },
        ],
        service_tiers: {
          priority: {
            input_per_mtok: 7,
            output_per_mtok: 28,
            above: [{ input_tokens: 2_000_000, input_per_mtok: 14, output_per_mtok: 56 }],
          },
          flex: { input_per_mtok: 1, output_per_mtok: 4 },
        },
      },
    },
  ],
});
const million: Usage = { ...noUsage, inputTokens: 1_000_000 };
const answered: Usage = { ...million, outputTokens: 1_000_000 };
const at = new Date('2026-06-01T12:00:00Z');
const oneUsd = 10n ** 12n;

describe('the price of a call', () => {
  const costOf = async (model: string, usage: Usage, provider = 'openai', upstreamModel = 'gpt-4o') =>
    (await Pricing.create(catalogue)).costOfRecorded({ provider, model, upstreamModel }, usage, {
      at,
      serviceTier: null,
    });

  it('is that of the catalogue, before any other; cached input costs what input does where it has no price', async () => {
    const cached = {
      ...answered,
      cachedInputTokens: 300_000,
      cacheWriteTokens: 200_000,
      reasoningTokens: 100,
    };
    expect(await costOf('own', cached)).toMatchObject({ costPico: 3n * oneUsd, source: 'catalogue' });
  });

  it("is the provider's public one where the catalogue has none", async () => {
    expect(await costOf('public', answered)).toMatchObject({
      costPico: (oneUsd * 125n) / 10n,
      ...{ source: 'genai-prices', version: 'genai-prices@0.1.8' },
    });
    const cached = { ...million, cachedInputTokens: 1_000_000 };
    expect(await costOf('public', cached)).toMatchObject({
      costPico: (oneUsd * 125n) / 100n,
      ...{ source: 'genai-prices', version: 'genai-prices@0.1.8' },
    });
    expect(await costOf('embedding', million, 'openai', 'text-embedding-3-small')).toMatchObject({
      costPico: (oneUsd * 2n) / 100n,
      ...{ source: 'genai-prices', version: 'genai-prices@0.1.8' },
    });
  });

  it.each([
    ['of a server of your own', 'private', 'local', 'gpt-4o'],
    ['of an unknown model', 'new', 'openai', 'no-such-model'],
    ['of a model that left the catalogue', 'gone', 'openai', 'gpt-4o'],
    ['of a model that means another one here', 'own', 'openai', 'gpt-4o-mini'],
  ])('%s is unknown', async (_name, model, provider, upstream) => {
    expect(await costOf(model, million, provider, upstream)).toBeNull();
    expect(await costOf(model, noUsage, provider, upstream)).toEqual({
      costPico: 0n,
      source: null,
      version: null,
    });
  });
});

/** The cost of a usage as a provider reports it, in USD; null where it is unknown. */
async function usdOf(
  id: string,
  reported: object,
  serviceTier: string | null = null,
): Promise<number | null> {
  const { provider, upstreamModel } = catalogue.models.get(id) as Model;
  const usage = readUsage(reported) as Usage;
  const attempt = { provider: provider.name, model: id, upstreamModel };
  const cost = (await Pricing.create(catalogue)).costOfRecorded(attempt, usage, { at, serviceTier });
  return cost === null ? null : Number(cost.costPico) / 1e12;
}

describe('the public price', () => {
  const writes = (short: number, long: number) => ({
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: short + long,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
  });

  it.each<[string, string, object, number | null]>([
    [
      'cache writes of GPT-5.6',
      'gpt-5.6',
      { prompt_tokens: 200_000, prompt_tokens_details: { cache_write_tokens: 200_000 } },
      1.25,
    ],
    [
      'cache writes of GPT-5.6 in long prompts',
      'gpt-5.6',
      { prompt_tokens: 400_000, prompt_tokens_details: { cache_write_tokens: 400_000 } },
      5,
    ],
    ["Anthropic's writes for 5 minutes", 'claude-sonnet-4-5', writes(100_000, 0), 0.375],
    ["Anthropic's writes for an hour", 'claude-sonnet-4-5', writes(0, 100_000), 0.6],
    ["Anthropic's writes in long prompts", 'claude-sonnet-4-5', writes(200_000, 100_000), 2.7],
    [
      'audio',
      'gpt-audio',
      {
        prompt_tokens: 1_000_000,
        prompt_tokens_details: { audio_tokens: 1_000_000 },
        completion_tokens: 1_000_000,
        completion_tokens_details: { audio_tokens: 1_000_000 },
      },
      96,
    ],
    [
      'audio of a model whose list has no price for it',
      'gpt-4o-audio-preview',
      { prompt_tokens: 10, prompt_tokens_details: { audio_tokens: 1 } },
      null,
    ],
    [
      'cached audio',
      'gemini-2.5-flash',
      {
        promptTokenCount: 1_000_000,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 1_000_000 }],
        cachedContentTokenCount: 1_000_000,
      },
      0.1,
    ],
    [
      'images in the answer',
      'gemini-2.5-flash-image',
      {
        promptTokenCount: 0,
        candidatesTokenCount: 1_000_000,
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_000_000 }],
      },
      30,
    ],
    [
      'free cache writes of earlier models of OpenAI',
      'public',
      { prompt_tokens: 1_000_000, prompt_tokens_details: { cache_write_tokens: 1_000_000 } },
      2.5,
    ],
    [
      'cache writes of a model without a price for them at another provider',
      'gemini-2.5-flash',
      { prompt_tokens: 10, prompt_tokens_details: { cache_write_tokens: 1 } },
      null,
    ],
  ])('has %s', async (_name, model, reported, usd) => {
    expect(await usdOf(model, reported)).toBe(usd);
  });

  it('fills in classes that the catalogue leaves out and that are never billed as text', async () => {
    // The catalogue's input is 2 USD, its cached input a tenth; public are 1 for input, 1.25 and 2 for writes.
    expect(await usdOf('claude-haiku-4-5', writes(1_000_000, 1_000_000))).toBe(3.25);
    expect(
      await usdOf('claude-haiku-4-5', { input_tokens: 1_000_000, cache_read_input_tokens: 1_000_000 }),
    ).toBe(2.2);
    expect(await usdOf('own', { prompt_tokens: 10, prompt_tokens_details: { audio_tokens: 1 } })).toBeNull();
  });

  it.each([
    [null, 2.5],
    ['default', 2.5],
    ['auto', 2.5],
    ['standard', 2.5],
    ['flex', null],
    ['priority', null],
    ['batch', null],
    ['scale', null],
  ])('is that of the standard tier; served in %j a million tokens cost %j', async (tier, usd) => {
    expect(await usdOf('public', { prompt_tokens: 1_000_000 }, tier)).toBe(usd);
  });
});

describe("the catalogue's price", () => {
  const details = (name: string, tokens = 1_000_000) => ({
    prompt_tokens: tokens,
    prompt_tokens_details: { [name]: tokens },
  });
  const answer = (name: string) => ({
    prompt_tokens: 0,
    completion_tokens: 1_000_000,
    completion_tokens_details: { [name]: 1_000_000 },
  });
  const long = { ephemeral_1h_input_tokens: 1_000_000 };

  // With 0.01 USD for the call.
  it.each<[string, object, number]>([
    ['input', { prompt_tokens: 1_000_000 }, 2.01],
    ['cached input', details('cached_tokens'), 0.21],
    ['cache writes', details('cache_write_tokens'), 2.51],
    [
      'cache writes for an hour',
      { input_tokens: 0, cache_creation_input_tokens: 1_000_000, cache_creation: long },
      4.01,
    ],
    ['audio', details('audio_tokens'), 40.01],
    [
      'cached audio',
      {
        prompt_tokens: 1_000_000,
        prompt_tokens_details: { audio_tokens: 1_000_000, cached_tokens: 1_000_000 },
      },
      10.01,
    ],
    ['images', details('image_tokens'), 3.01],
    [
      'cached images',
      {
        prompt_tokens: 1_000_000,
        prompt_tokens_details: { image_tokens: 1_000_000, cached_tokens: 1_000_000 },
      },
      0.31,
    ],
    ['video', details('video_tokens'), 5.01],
    ['output', { prompt_tokens: 0, completion_tokens: 1_000_000 }, 8.01],
    ['reasoning', answer('reasoning_tokens'), 9.01],
    ['audio in the answer', answer('audio_tokens'), 80.01],
    ['images in the answer', answer('image_tokens'), 30.01],
    ['video in the answer', answer('video_tokens'), 50.01],
    ['long prompts', { prompt_tokens: 2_000_001, completion_tokens: 1_000_000 }, 20.000004],
    ['cache writes in long prompts', details('cache_write_tokens', 2_500_000), 12.5],
    ['longer prompts', { prompt_tokens: 4_000_000, completion_tokens: 1_000_000 }, 40],
  ])('has %s', async (_name, reported, usd) => {
    expect(await usdOf('whole', reported)).toBe(usd);
  });

  it.each<[string | null, number, number | null]>([
    [null, 1_000_000, 2.01],
    ['default', 1_000_000, 2.01],
    ['priority', 1_000_000, 7],
    ['fast', 1_000_000, 7],
    ['priority', 3_000_000, 42],
    ['flex', 3_000_000, 3],
    ['scale', 1_000_000, null],
    ['x'.repeat(64), 1_000_000, null],
  ])('served in %j has %d tokens for %j USD', async (tier, tokens, usd) => {
    expect(await usdOf('whole', { prompt_tokens: tokens }, tier)).toBe(usd);
  });

  it('of a tier inherits nothing from the standard one', async () => {
    expect(await usdOf('whole', details('cached_tokens'), 'priority')).toBe(7);
    expect(await usdOf('whole', details('audio_tokens'), 'priority')).toBeNull();
  });
});

describe('the most that a call can cost', () => {
  const most = async (id: string, serviceTier: string | null, classes: TokenClass[] = []) =>
    (await Pricing.create(catalogue)).mostCost(
      catalogue.models.get(id) as Model,
      { input: 1_000, output: 0, classes, serviceTier },
      at,
    );

  it('is known where the tier or a class that was asked for has no price, and unknown without any', async () => {
    expect(await most('whole', 'scale')).toBe(await most('whole', 'auto'));
    expect(await most('public', 'flex')).not.toBeNull();
    expect(await most('public', null, ['outputAudio'])).not.toBeNull();
    expect(await most('new', null)).toBeNull();
    for (const tier of [null, 'auto', 'default']) expect(await most('public', tier)).not.toBeNull();
    expect(await most('gpt-audio', null, ['inputAudio', 'outputAudio'])).not.toBeNull();
  });

  const decimal = fc
    .oneof(
      fc.constantFrom('0', '0.000001', '15'),
      fc.nat({ max: 999_999_999 }).map((n) => String(n / 1e6)),
    )
    .filter((text) => /^\d{1,9}(\.\d{1,6})?$/.test(text));
  const amounts = {
    ...Object.fromEntries(
      [
        ...[
          'cached_input',
          'cache_write',
          'cache_write_1h',
          'input_audio',
          'cached_input_audio',
          'input_image',
        ],
        ...['cached_input_image', 'input_video', 'cached_input_video', 'reasoning', 'output_audio'],
        ...['output_image', 'output_video'],
      ].map((name) => [`${name}_per_mtok`, decimal]),
    ),
    input_per_mtok: decimal,
    output_per_mtok: decimal,
    per_call_usd: decimal,
  };
  const requiredKeys: ('input_per_mtok' | 'output_per_mtok')[] = ['input_per_mtok', 'output_per_mtok'];
  const above = fc.uniqueArray(
    fc.record(
      { input_tokens: fc.integer({ min: 1, max: 3_000 }), ...amounts },
      { requiredKeys: ['input_tokens', ...requiredKeys] },
    ),
    { maxLength: 4, selector: (step) => step.input_tokens },
  );
  const tier = fc.record({ ...amounts, above }, { requiredKeys });
  const price = fc.record(
    { ...amounts, above, service_tiers: fc.dictionary(fc.constantFrom('priority', 'flex', 'scale'), tier) },
    { requiredKeys },
  );
  const tokens = fc.array(fc.nat({ max: 500 }), { minLength: 15, maxLength: 15 });

  it('is never less than what it costs, of any class, tier and length', () => {
    fc.assert(
      fc.property(
        price,
        tokens,
        fc.constantFrom(null, 'auto', 'default', 'priority', 'fast', 'flex', 'scale'),
        fc.constantFrom(null, 'default', 'priority', 'flex', 'scale'),
        (modelPrice, counts, asked, served) => {
          // A named tier gives way to the standard one at most.
          const free = asked === null || asked === 'auto';
          fc.pre(
            free || served === null || served === 'default' || served === asked.replace('fast', 'priority'),
          );
          const priced = Catalogue.parse({
            providers: [local],
            models: [{ id: 'm', provider: 'local', price: modelPrice }],
          });
          const names = [...tokenClasses];
          const parts = Object.fromEntries(names.map((name, index) => [name, counts[index]])) as UsageParts;
          const sum = (of: readonly TokenClass[]) => of.reduce((total, name) => total + parts[name], 0);
          const bounds = { input: sum(inputClasses), output: sum(outputClasses) };
          const usage = { ...noUsage, inputTokens: bounds.input, outputTokens: bounds.output, parts };
          const pricing = new Pricing(priced, null);
          const reserved = pricing.mostCost(
            priced.models.get('m') as Model,
            { ...bounds, classes: [], serviceTier: asked },
            at,
          );
          const attempt = { provider: 'local', model: 'm', upstreamModel: 'm' };
          const cost = pricing.costOfRecorded(attempt, usage, { at, serviceTier: served });
          if (reserved !== null && cost !== null) expect(cost.costPico).toBeLessThanOrEqual(reserved);
        },
      ),
      { numRuns: 300 },
    );
  });
});
