import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulator } from './simulator.ts';

let simulator: ProviderSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startProviderSimulator();
  client = new OpenAI({ apiKey: 'any', baseURL: simulator.baseUrl, maxRetries: 0 });
});

afterAll(() => simulator.close());

describe('embeddings and models', () => {
  it('gives the same unit vectors in both encodings', async () => {
    const input = ['red apples', 'green apples', 'quarterly report'];
    const decoded = await client.embeddings.create({ model: 'e', input });
    const floats = await client.embeddings.create({ model: 'e', input, encoding_format: 'float' });
    const vectors = decoded.data.map((entry) => entry.embedding);
    expect(vectors).toEqual(floats.data.map((entry) => entry.embedding));
    expect(vectors.map((vector) => vector.length)).toEqual([8, 8, 8]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  it('takes tokens and dimensions and counts usage', async () => {
    const one = await client.embeddings.create({ model: 'e', input: [1, 2, 3], dimensions: 32 });
    const two = await client.embeddings.create({ model: 'e', input: [[1, 2, 3], [4]], dimensions: 32 });
    expect(one.data[0]?.embedding).toEqual(two.data[0]?.embedding);
    expect(one.data[0]?.embedding).toHaveLength(32);
    expect(two.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
  });

  it('puts texts that share words closer together', async () => {
    const input = [
      'the user likes green tea',
      'which tea does the user like',
      'rocket engines burn kerosene',
    ];
    const { data } = await client.embeddings.create({ model: 'e', input, dimensions: 256 });
    const likeness = (left: number, right: number): number =>
      (data[left]?.embedding ?? []).reduce(
        (sum, value, i) => sum + value * (data[right]?.embedding[i] ?? 0),
        0,
      );
    expect(likeness(0, 1)).toBeGreaterThan(likeness(0, 2) + 0.2);
  });

  it('lists models and knows any by name', async () => {
    expect((await client.models.list()).data.map((model) => model.id)).toContain('gpt-4o');
    expect((await client.models.retrieve('org/any')).id).toBe('org/any');
  });
});
