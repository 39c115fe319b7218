import { describe, expect, it } from '@jest/globals';
import { latestReport, sumReports } from '@gatehouse/dialects/usage/reported-usage';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { readServiceTier, readUsage } from '@gatehouse/dialects/usage/usage-reader';
import { Catalogue, type Model } from './catalogue.ts';
import { parsePrice, priceText } from './kept-price.ts';
import { costBy } from './price.ts';
import { Pricing } from './pricing.ts';

const at = new Date('2026-11-01T12:00:00Z');
const rates = { input_per_mtok: 5, cached_input_per_mtok: '0.5', output_per_mtok: 25 };
const price = {
  ...rates,
  ...{ cache_write_per_mtok: '6.25', cache_write_1h_per_mtok: 10 },
  above: [{ input_tokens: 200_000, input_per_mtok: 10, cached_input_per_mtok: 1, output_per_mtok: '37.5' }],
};

/** The cost in USD of an answer with a usage, by a price; null without one. */
function usdOf(
  usage: Record<string, unknown>,
  stated: Record<string, unknown> = price,
  upstreamModel?: string,
  family?: string,
): number | null {
  const { pricing, model } = pricingOf(stated, upstreamModel, family);
  const read = readUsage(usage);
  if (read === null) throw new Error('it is no usage');
  const cost = pricing.costOf(model, read, { at, serviceTier: readServiceTier({ usage }) });
  return cost === null ? null : Number(cost.costPico) / 1e12;
}

function pricingOf(
  stated: Record<string, unknown>,
  upstream_model?: string,
  family?: string,
): { pricing: Pricing; model: Model } {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'anthropic', kind: 'anthropic', base_url: 'https://api.anthropic.com' }],
    models: [
      {
        ...{ id: 'claude', provider: 'anthropic', upstream_model, family },
        ...{ max_output_tokens: 64_000, price: stated },
      },
    ],
  });
  return { pricing: new Pricing(catalogue, null), model: catalogue.models.get('claude') as Model };
}

const compaction = { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 };
const message = { type: 'message', input_tokens: 23_000, output_tokens: 1_000 };
const compacted = { input_tokens: 23_000, output_tokens: 1_000, iterations: [compaction, message] };

describe('compactions within a request', () => {
  it('are tokens of it, each sampling by its own step', () => {
    expect(readUsage(compacted)).toMatchObject({ inputTokens: 203_000, outputTokens: 4_500 });
    expect(usdOf(compacted)).toBe((203_000 * 5 + 4_500 * 25) / 1e6);
    const long = { ...compaction, input_tokens: 210_000 };
    expect(usdOf({ ...compacted, iterations: [long, message] })).toBe(
      (210_000 * 10 + 3_500 * 37.5 + 23_000 * 5 + 1_000 * 25) / 1e6,
    );
  });

  it.each<[string, Record<string, unknown>, number, number]>([
    ['two', { ...compacted, iterations: [compaction, compaction, message] }, 383_000, 8_000],
    ['one that pauses', { input_tokens: 0, output_tokens: 0, iterations: [compaction] }, 180_000, 3_500],
    [
      'one with figures of no kind',
      { ...compacted, iterations: [{ ...compaction, input_tokens: '9' }] },
      23_000,
      4_500,
    ],
    ['messages alone', { ...compacted, iterations: [message, message] }, 23_000, 1_000],
    ['no list', { ...compacted, iterations: { 0: compaction } }, 23_000, 1_000],
    ['entries of no kind', { ...compacted, iterations: [null, 3, 'compaction', []] }, 23_000, 1_000],
  ])('%s', (_name, usage, inputTokens, outputTokens) => {
    expect(readUsage(usage)).toMatchObject({ inputTokens, outputTokens });
  });

  it('count with their cache', () => {
    const cached = {
      ...compaction,
      ...{ cache_read_input_tokens: 1_000, cache_creation_input_tokens: 700 },
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 500 },
    };
    expect(usdOf({ ...compacted, iterations: [cached, message] })).toBeCloseTo(
      (203_000 * 5 + 1_000 * 0.5 + 200 * 6.25 + 500 * 10 + 4_500 * 25) / 1e6,
      12,
    );
  });

  it('count once in a stream which reports them twice, and for each call of a tool loop', () => {
    const stream = latestReport(latestReport({}, compacted), { ...compacted, output_tokens: 1_100 });
    expect(readUsage(stream)).toMatchObject({ inputTokens: 203_000, outputTokens: 4_600 });
    expect(readUsage(sumReports(stream, compacted))).toMatchObject({ inputTokens: 406_000 });
  });

  it('count behind any number of messages, in a stream as well', () => {
    const messages = Array.from({ length: 2_000 }, () => message);
    const advice = { type: 'advisor_message', model: 'claude-opus-5-5' };
    const compactions = Array.from({ length: 40 }, () => compaction);
    const long = { ...compacted, iterations: [...messages, ...compactions, ...messages, advice] };
    const counted = { inputTokens: 23_000 + 40 * 180_000, toolCalls: { advisor: 1 } };
    expect(readUsage(long)).toMatchObject(counted);
    const stream = latestReport({}, long);
    expect(stream['iterations']).toEqual([...compactions, advice]);
    expect(readUsage(stream)).toMatchObject(counted);
    expect(readUsage(sumReports(long, compacted))).toMatchObject({ inputTokens: 46_000 + 41 * 180_000 });
  });

  it('are bounded in a stream', () => {
    const nested = {
      ...compacted,
      iterations: [{ ...compaction, iterations: [compaction], text: 'x'.repeat(999) }],
    };
    expect(latestReport({}, nested)['iterations']).toEqual([compaction]);
    const many = latestReport(
      {},
      { ...compacted, iterations: Array.from({ length: 9_999 }, () => compaction) },
    );
    expect(many['iterations']).toHaveLength(1_000);
    expect(readUsage({ ...compacted, iterations: Array.from({ length: 9_999 }, () => compaction) })).toEqual(
      readUsage(many),
    );
  });
});

describe('a call of the advisor', () => {
  const advised = {
    ...message,
    iterations: [message, { type: 'advisor_message', model: 'claude-opus-5-5' }],
  };

  it('has no price but that of its call', () => {
    expect(usdOf(advised)).toBeNull();
    expect(usdOf(advised, { ...price, per_tool_call: { advisor: '0.25' } })).toBe(0.25 + 0.14);
  });
});

describe('fast mode', () => {
  const fast = { input_tokens: 1_000, output_tokens: 1_000, service_tier: 'standard', speed: 'fast' };

  it('has the price of `priority`, or none', () => {
    expect(usdOf(fast)).toBeNull();
    const tiers = { service_tiers: { priority: { input_per_mtok: 10, output_per_mtok: 50 } } };
    expect(usdOf(fast, { ...price, ...tiers })).toBe(0.06);
    expect(usdOf({ ...fast, speed: 'standard' }, { ...price, ...tiers })).toBe(0.03);
    expect(usdOf({ ...fast, inference_geo: 'us' }, { ...price, ...tiers })).toBe(0.066);
  });
});

describe('the region', () => {
  const usage = { input_tokens: 1_001, output_tokens: 1_000 };

  it.each<[unknown, number | null]>([
    ['us', 1.1],
    ['global', 1],
    ['not_available', 1],
    ['', 1],
    [null, 1],
    [7, 1],
    ['eu', null],
    ['constructor', null],
  ])('%j', (region, factor) => {
    const usd = usdOf({ ...usage, inference_geo: region });
    if (factor === null) expect(usd).toBeNull();
    else expect(usd).toBeCloseTo(0.030_005 * factor, 12);
  });

  it('has the factor of the catalogue, also in a stream and in a batch', () => {
    const stated = { ...price, regions: { eu: '1.2', us: 1 }, per_call_usd: '0.01' };
    expect(usdOf({ ...usage, inference_geo: 'us' }, stated)).toBe(0.040_005);
    const stream = latestReport(latestReport({}, { ...usage, inference_geo: 'eu' }), {
      output_tokens: 1_000,
    });
    expect(usdOf(stream, stated)).toBe(0.046_006);
    const { pricing, model } = pricingOf(stated);
    const batch = pricing.priceOf(model, { at, serviceTier: null, inBatch: true });
    const read = readUsage({ ...usage, inference_geo: 'eu' });
    if (batch === null || read === null) throw new Error('the batch has a price');
    expect(costBy(parsePrice(priceText(batch)), read)).toMatchObject({ costPico: 28_003_000_000n });
  });

  it('is reserved at its highest price', () => {
    const { pricing, model } = pricingOf(price);
    const most = { input: 1_001, output: 1_000, classes: [], serviceTier: null };
    const reserved = pricing.mostCost(model, most, at);
    const read = readUsage({
      input_tokens: 0,
      cache_creation: { ephemeral_1h_input_tokens: 1_001 },
      output_tokens: 1_000,
      inference_geo: 'us',
    });
    if (read === null) throw new Error('it is a usage');
    const cost = pricing.costOf(model, read, { at, serviceTier: null });
    expect(reserved).toBeGreaterThanOrEqual(cost?.costPico ?? 0n);
  });
});

describe('cached tokens without a price of their own', () => {
  const few = { input_per_mtok: 4, output_per_mtok: 20 };
  const cached = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 1_000 };

  it('have the one that Anthropic states in relation to input, in each step and tier', () => {
    expect(usdOf(cached, few)).toBe((10 * 4 + 5 * 20 + 1_000 * 0.4) / 1e6);
    expect(usdOf(cached, { ...few, cached_input_per_mtok: 3 })).toBe((10 * 4 + 5 * 20 + 1_000 * 3) / 1e6);
    const long = { ...few, above: [{ input_tokens: 1_000, input_per_mtok: 8, output_per_mtok: 30 }] };
    expect(usdOf(cached, long)).toBe((10 * 8 + 5 * 30 + 1_000 * 0.8) / 1e6);
    const tiers = { ...few, service_tiers: { priority: { input_per_mtok: 6, output_per_mtok: 30 } } };
    expect(usdOf({ ...cached, service_tier: 'priority' }, tiers)).toBe((10 * 6 + 5 * 30 + 1_000 * 0.6) / 1e6);
  });

  it.each([
    ['claude-opus-5-5', 0.2],
    ['claude-opus-5-5-20260901', 0.2],
    ['claude-opus-5', 0.4],
    ['claude-fable-5-1', 0.1],
    ['claude-3-haiku-20240307', 0.48],
    ['gpt-5.1', 4],
    ['llama', 4],
  ])('of %s cost %d', (upstream_model, rate) => {
    expect(usdOf(cached, few, upstream_model)).toBe((10 * 4 + 5 * 20 + 1_000 * rate) / 1e6);
  });

  it.each([
    ['claude-opus-5-5', 0.2],
    ['claude-fable-5-1', 0.1],
    ['claude-3-haiku', 0.48],
    ['claude-sonnet-5', 0.4],
  ])('of an ARN with the family %s cost %d', (family, rate) => {
    const arn = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x';
    expect(usdOf(cached, few, arn, family)).toBe((10 * 4 + 5 * 20 + 1_000 * rate) / 1e6);
  });
});

describe('cache writes without a price of their own', () => {
  const few = { input_per_mtok: 4, output_per_mtok: 20 };
  const long = { ...few, above: [{ input_tokens: 200_000, input_per_mtok: 8, output_per_mtok: 30 }] };
  const writes = (short: number, hour: number): Record<string, unknown> => ({
    ...{ input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: short + hour },
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: hour },
  });

  it('have those that Anthropic states in relation to input', () => {
    expect(usdOf(writes(1_000, 0), few)).toBe((10 * 4 + 5 * 20 + 1_000 * 5) / 1e6);
    expect(usdOf(writes(1_000, 3_000), few)).toBe((10 * 4 + 5 * 20 + 1_000 * 5 + 3_000 * 8) / 1e6);
    expect(usdOf(writes(300_000, 0), long)).toBe((10 * 8 + 5 * 30 + 300_000 * 10) / 1e6);
    const tiers = { ...few, service_tiers: { priority: { input_per_mtok: 6, output_per_mtok: 30 } } };
    expect(usdOf({ ...writes(1_000, 0), service_tier: 'priority' }, tiers)).toBe(
      (10 * 6 + 5 * 30 + 1_000 * 7.5) / 1e6,
    );
    expect(usdOf(writes(1_000, 0), { ...few, cache_write_per_mtok: 1 })).toBe(
      (10 * 4 + 5 * 20 + 1_000) / 1e6,
    );
  });

  it.each([
    ['us.amazon.nova-pro-v1:0', undefined, 4_000],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/x', 'claude-sonnet-4-5', 5_000],
    ['meta.llama4-maverick-17b-instruct-v1:0', undefined, null],
  ])('of %s are by the rule for its family', (upstream_model, family, cost) => {
    const catalogue = Catalogue.parse({
      providers: [
        {
          name: 'aws',
          kind: 'bedrock',
          region: 'us-east-1',
          api_key_env: 'K',
          base_url: 'https://bedrock.example.com',
        },
      ],
      models: [
        {
          id: 'm',
          provider: 'aws',
          upstream_model,
          ...(family && { family }),
          max_output_tokens: 9,
          price: few,
        },
      ],
    });
    const usage = { inputTokens: 1_000, cacheWriteTokens: 1_000 };
    const pricing = new Pricing(catalogue, null);
    const model = catalogue.models.get('m') as Model;
    const known = pricing.costOf(model, { ...noUsage, ...usage }, { at, serviceTier: null });
    expect(known === null ? null : Number(known.costPico) / 1e6).toBe(cost);
  });
});
