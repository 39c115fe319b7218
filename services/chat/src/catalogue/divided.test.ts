import { describe, expect, it } from '@jest/globals';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { problemsIn, problemsOf } from '../../test/catalogue-problems.ts';
import { Catalogue, deploymentsOf } from './catalogue.ts';
import { Pricing } from './pricing.ts';
import { secretsOf } from './provider-schema.ts';

const acme = { name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1' };
const small = { id: 'small', provider: 'acme' };

describe('a catalogue whose calls are divided', () => {
  it('divides a model among deployments, each at a provider and by its own name', () => {
    const west = { ...acme, name: 'west', kind: 'azure', api_key_env: 'KEY' };
    const claude = { name: 'claude', kind: 'anthropic', base_url: 'https://claude.example' };
    const made = Catalogue.parse({
      providers: [acme, west, claude],
      models: [
        {
          id: 'm',
          upstream_model: 'gpt',
          api: 'responses',
          deployments: [
            { provider: 'acme' },
            { provider: 'west', upstream_model: 'gpt-west', weight: 3 },
            { provider: 'claude', upstream_model: 'opus' },
          ],
        },
        small,
      ],
    });
    const model = made.models.get('m');
    expect(made.divides).toBe(true);
    expect(model === undefined ? [] : deploymentsOf(model)).toMatchObject([
      { id: 'm', provider: { name: 'acme' }, upstreamModel: 'gpt', api: 'responses', weight: 1 },
      { id: 'm', provider: { name: 'west' }, upstreamModel: 'gpt-west', api: 'responses', weight: 3 },
      {
        id: 'm',
        provider: { name: 'claude' },
        upstreamModel: 'opus',
        api: 'messages',
        weight: 1,
        others: [],
      },
    ]);
    expect(Catalogue.parse({ providers: [acme], models: [small] }).divides).toBe(false);
  });

  it('has several keys for a provider, each from a variable or a file', () => {
    const keys = [{ env: 'A', weight: 2 }, { file: '/run/key' }];
    const azure = { name: 'azure', kind: 'azure', base_url: 'https://contoso.test', keys };
    const bedrock = { name: 'bedrock', kind: 'bedrock', region: 'eu', keys: [{ env: 'B' }] };
    const made = Catalogue.parse({ providers: [{ ...acme, keys }, azure, bedrock], models: [small] });
    expect(made.providers[0]).toMatchObject({ keys: [keys[0], { file: '/run/key', weight: 1 }] });
    expect(made.providers.flatMap(secretsOf)).toEqual(['A', 'A', 'B']);
    expect(made.divides).toBe(true);
    const wrong = (fields: object): string[] => problemsOf([{ ...acme, ...fields }], [small]);
    expect(wrong({ keys, api_key_env: 'A' })).toEqual([
      'providers.0: must not have both api_key_env and keys',
    ]);
    for (const none of [
      [],
      Array(65).fill(keys[0]),
      [{ weight: 1 }],
      [{ env: 'A', file: 'f' }],
      [{ key: 'sk' }],
    ])
      expect(wrong({ keys: none }).length).toBeGreaterThan(0);
    const both = { ...azure, api_key_env: 'A' };
    expect(problemsOf([both], [{ ...small, provider: 'azure' }])).toEqual([
      'providers.0: must have one of api_key_env, keys, entra',
    ]);
  });

  it('lists all problems of deployments', () => {
    const claude = { name: 'claude', kind: 'anthropic', base_url: 'https://claude.example' };
    const wrong = (fields: object, embeddings?: object): string[] =>
      problemsIn(() =>
        Catalogue.parse({
          ...{ providers: [acme, claude], models: [{ id: 'm', ...fields }] },
          ...(embeddings && { embeddings }),
        }),
      );
    expect(wrong({})).toEqual(['models.0: must have one of provider, deployments']);
    const twice = [{ provider: 'acme' }, { provider: 'acme', upstream_model: 'm' }];
    expect(wrong({ provider: 'acme', deployments: twice })).toHaveLength(1);
    expect(wrong({ deployments: twice })).toEqual(['model m: m of acme is there twice']);
    expect(wrong({ deployments: [{ provider: 'acme', weight: 0 }] })).toEqual([
      expect.stringContaining('models.0.deployments.0.weight'),
    ]);
    expect(wrong({ deployments: Array(17).fill({ provider: 'acme' }) })).toEqual([
      expect.stringContaining('models.0.deployments'),
    ]);
    const both = [{ provider: 'acme' }, { provider: 'claude' }, { provider: 'gone' }];
    expect(wrong({ deployments: both, api: 'gemini' })).toEqual([
      'model m: there is no provider gone',
      'model m: providers of kind openai, anthropic have no API gemini',
    ]);
    expect(wrong({ deployments: both.slice(0, 2) }, { model: 'm' })).toEqual([
      'embeddings: the provider of model m has no embeddings',
    ]);
  });
});

it('prices a call by the deployment that was called', async () => {
  const deployments = [
    { provider: 'local', upstream_model: 'gpt-4o' },
    { provider: 'openai', upstream_model: 'gpt-4o' },
  ];
  const divided = Catalogue.parse({
    providers: [
      { ...acme, name: 'openai', base_url: 'https://api.openai.com/v1' },
      { ...acme, name: 'local' },
    ],
    models: [
      { id: 'public', deployments },
      { id: 'own', deployments, price: { input_per_mtok: 1, output_per_mtok: 2 } },
    ],
  });
  const pricing = await Pricing.create(divided);
  const at = new Date('2026-06-01T12:00:00Z');
  const million = { ...noUsage, inputTokens: 1_000_000 };
  const costOf = (model: string, provider: string) =>
    pricing.costOfRecorded({ provider, model, upstreamModel: 'gpt-4o' }, million, { at, serviceTier: null });
  expect(costOf('public', 'local')).toBeNull();
  expect(costOf('public', 'openai')).toMatchObject({ source: 'genai-prices' });
  expect(costOf('own', 'local')).toMatchObject({ costPico: 10n ** 12n, source: 'catalogue' });
  expect(costOf('own', 'openai')).toMatchObject({ costPico: 10n ** 12n, source: 'catalogue' });
  expect(costOf('own', 'elsewhere')).toBeNull();
});
