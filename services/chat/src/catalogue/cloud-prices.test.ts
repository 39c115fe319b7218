import { describe, expect, it } from '@jest/globals';
import { Catalogue } from './catalogue.ts';
import { Pricing } from './pricing.ts';

describe('the public price of a model in a cloud', () => {
  const clouds = Catalogue.parse({
    providers: [
      { name: 'azure', kind: 'azure', base_url: 'https://contoso.openai.azure.com', api_key_env: 'KEY' },
      { name: 'vertex', kind: 'vertex', project: 'p', region: 'eu', credentials_file: 'f' },
      { name: 'bedrock', kind: 'bedrock', region: 'eu-central-1', api_key_env: 'KEY' },
    ],
    models: [
      { id: 'gpt-4.1-mini', provider: 'azure' },
      { id: 'gemini-2.5-flash', provider: 'vertex' },
      { id: 'claude-sonnet-4-5@20250929', provider: 'vertex', api: 'messages' },
      { id: 'anthropic.claude-sonnet-4-5-20250929-v1:0', provider: 'bedrock', api: 'messages' },
      { id: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', provider: 'bedrock', api: 'messages' },
    ],
  });

  it.each([...clouds.models.values()])('is found by its name there: $id', async (model) => {
    const pricing = await Pricing.create(clouds);
    const most = { input: 1_000, output: 1_000, classes: [], serviceTier: null };
    expect(pricing.mostCost(model, most, new Date('2026-06-01'))).toBeGreaterThan(0n);
  });
});
