import { describe, expect, it } from '@jest/globals';
import { AllowedModels } from '@gatehouse/contract/allowed-models';
import { problemsIn, problemsOf } from '../../test/catalogue-problems.ts';
import { Catalogue } from './catalogue.ts';
import { factsBy, takenDefaults } from './facts-by.ts';
import { agentRef, agentTarget, modelNotFound, modelTarget, type ResolvedAgent } from './target.ts';

const acme = { name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1/' };
const small = { id: 'small', provider: 'acme' };

describe('a catalogue', () => {
  it('fills in what is not said', () => {
    const { models, providers } = Catalogue.parse({ providers: [acme], models: [small] });
    expect(providers).toEqual([
      {
        ...acme,
        base_url: 'https://acme.example/v1',
        timeout_ms: 600_000,
        idle_timeout_ms: 120_000,
        max_retries: 2,
        stream_usage: true,
      },
    ]);
    expect(models.get('small')).toEqual({
      id: 'small',
      api: 'chat',
      provider: providers[0],
      upstreamModel: 'small',
      cache: 'auto',
      ...{ fallbacks: [], aliases: [], list: [], pattern: null, weight: 1, others: [] },
    });
  });

  it('reaches models by the API of their provider, and refuses another', () => {
    const anthropic = { ...acme, name: 'anthropic', kind: 'anthropic' };
    const google = { ...acme, name: 'google', kind: 'google' };
    const models = [small, { id: 'claude', provider: 'anthropic', api: 'messages' }];
    const all = [...models, { id: 'gemini', provider: 'google' }];
    const made = Catalogue.parse({ providers: [acme, anthropic, google], models: all });
    expect([...made.models.values()].map(({ api }) => api)).toEqual(['chat', 'messages', 'gemini']);
    const wrong = [
      { id: 'claude', provider: 'anthropic', api: 'chat' },
      { ...small, api: 'messages' },
    ];
    expect(() => Catalogue.parse({ providers: [acme, anthropic], models: wrong })).toThrow(
      /model claude: providers of kind anthropic have no API chat\n.*openai have no API messages/,
    );
    expect(() =>
      Catalogue.parse({ providers: [acme, anthropic], models, embeddings: { model: 'claude' } }),
    ).toThrow('embeddings: the provider of model claude has no embeddings');
  });

  it('derives addresses of providers that have them by region', () => {
    const providers = [
      { name: 'azure', kind: 'azure', base_url: 'https://contoso.openai.azure.com/', api_key_env: 'KEY' },
      { name: 'bedrock', kind: 'bedrock', region: 'eu-central-1', api_key_env: 'KEY' },
      {
        name: 'vpc',
        kind: 'bedrock',
        region: 'us-east-1',
        base_url: 'https://vpce.test',
        api_key_env: 'KEY',
      },
    ];
    const vertex = { kind: 'vertex', project: 'p', credentials_file: 'f' };
    const regions = ['global', 'eu', 'us-east5'].map((region) => ({ name: region, region, ...vertex }));
    const models = [
      { id: 'gpt', provider: 'azure' },
      { id: 'claude', provider: 'bedrock', api: 'messages' },
      { id: 'nova', provider: 'bedrock' },
    ];
    const made = Catalogue.parse({ providers: [...providers, ...regions], models });
    expect(made.providers.map(({ base_url: url }) => url)).toEqual([
      'https://contoso.openai.azure.com',
      'https://bedrock-runtime.eu-central-1.amazonaws.com',
      'https://vpce.test',
      'https://aiplatform.googleapis.com/v1',
      'https://aiplatform.eu.rep.googleapis.com/v1',
      'https://us-east5-aiplatform.googleapis.com/v1',
    ]);
    expect([...made.models.values()].map(({ api }) => api)).toEqual(['chat', 'messages', 'converse']);
    expect(
      problemsOf(
        [
          { name: 'azure', kind: 'azure', api_key_env: 'KEY', region: 'x' },
          { name: 'bedrock', kind: 'bedrock', region: 'eu/../us' },
          { ...acme, kind: 'other' },
          { name: 'two', kind: 'bedrock', region: 'x', api_key_env: 'KEY', default_credentials: true },
          { ...acme, kind: 'azure', entra: { tenant_id: '../x', client_id: 'y', token_file: 'z' } },
          { name: 'vertex', kind: 'vertex', project: 'p', region: 'global' },
        ],
        models,
      ),
    ).toEqual([
      expect.stringContaining('providers.0.base_url'),
      expect.stringContaining('providers.0: Unrecognized key: "region"'),
      expect.stringContaining('providers.1.region: must be lower-case letters, digits and -'),
      expect.stringContaining('providers.1: must have one of api_key_env'),
      expect.stringContaining('providers.2.kind'),
      'providers.3: must have one of api_key_env, keys, access_key, web_identity, default_credentials',
      expect.stringContaining('providers.4.entra.tenant_id'),
      expect.stringContaining('providers.5.credentials_file'),
    ]);
  });

  it('keeps prices as they are written', () => {
    const price = { input_per_mtok: '0.150001', output_per_mtok: 0.6, cached_input_per_mtok: '0' };
    const { models } = Catalogue.parse({ providers: [acme], models: [{ ...small, price }] });
    expect(models.get('small')?.price).toEqual({
      input_per_mtok: '0.150001',
      output_per_mtok: '0.6',
      cached_input_per_mtok: '0',
    });
  });

  it('can give a price to every class of tokens, long prompts and service tiers', () => {
    const amounts = {
      ...{ input_per_mtok: '2', cached_input_per_mtok: '0.2', output_per_mtok: '8', reasoning_per_mtok: '9' },
      ...{ cache_write_per_mtok: '2.5', cache_write_1h_per_mtok: '4', per_call_usd: '0.01' },
      ...{ input_audio_per_mtok: '40', cached_input_audio_per_mtok: '10', output_audio_per_mtok: '80' },
      ...{ input_image_per_mtok: '3', cached_input_image_per_mtok: '0.3', output_image_per_mtok: '30' },
      ...{ input_video_per_mtok: '5', cached_input_video_per_mtok: '0.5', output_video_per_mtok: '50' },
    };
    const above = [{ input_tokens: 200_000, ...amounts }];
    const price = { ...amounts, above, service_tiers: { priority: { ...amounts, above }, flex: amounts } };
    const { models } = Catalogue.parse({ providers: [acme], models: [{ ...small, price }] });
    expect(models.get('small')?.price).toEqual(price);
  });

  it('lists all problems of prices', () => {
    const price = { input_per_mtok: '1', output_per_mtok: '2' };
    const step = { input_tokens: 5, ...price };
    const tiers = (names: string[]) => Object.fromEntries(names.map((tier) => [tier, price]));
    const wrong = [
      { ...price, above: [step, step] },
      { ...price, above: Array.from({ length: 9 }, (_, index) => ({ ...step, input_tokens: index + 1 })) },
      { ...price, above: [{ ...step, input_tokens: 0 }, { input_tokens: 5 }] },
      { ...price, service_tiers: tiers(['default']) },
      { ...price, service_tiers: tiers(['fast']) },
      { ...price, service_tiers: tiers(['Priority']) },
      { ...price, service_tiers: tiers(Array.from({ length: 9 }, (_, index) => `t${index}`)) },
      { ...price, service_tiers: { flex: { input_per_mtok: '1', service_tiers: {} } } },
      { ...price, input_audio_per_mtok: `${'0'.repeat(1_000)}1` },
    ];
    const found = problemsOf(
      [acme],
      wrong.map((entry, index) => ({ ...small, id: `m${index}`, price: entry })),
    );
    for (const [index, at] of [
      'above:',
      'above:',
      'above.0.input_tokens:',
      'service_tiers',
      'service_tiers',
      'service_tiers',
      'service_tiers:',
      'service_tiers.flex',
      'input_audio_per_mtok',
    ].entries())
      expect(found).toContainEqual(expect.stringContaining(`models.${index}.price.${at}`));
  });

  it('lists all wrong fields at once', () => {
    const wrong = problemsOf(
      [{ ...acme, name: 'ACME', base_url: 'ftp://x', timeout_ms: 0, api_key: 'sk' }],
      [{ ...small, id: 'agent:x', price: { input_per_mtok: '0.1234567', output_per_mtok: '1e3' } }],
    );
    for (const at of [
      'providers.0.name',
      'providers.0.base_url',
      'providers.0.timeout_ms',
      'providers.0:',
      'models.0.id',
      'models.0.price.input_per_mtok',
      'models.0.price.output_per_mtok',
    ]) {
      expect(wrong).toContainEqual(expect.stringContaining(at));
    }
    expect(wrong).toHaveLength(7);
    expect(wrong.join()).not.toContain('"sk"');
  });

  it('lists all wrong references at once', () => {
    const models = [
      { ...small, fallbacks: ['gone', 'small'] },
      { id: 'other', provider: 'nobody', fallbacks: ['lost'] },
      small,
    ];
    expect(problemsOf([acme, acme], models).sort()).toEqual([
      'acme is there twice',
      'model other: there is no fallback model lost',
      'model other: there is no provider nobody',
      'model small: there is no fallback model gone',
      'small is there twice',
    ]);
  });

  it.each([
    [null],
    [[]],
    ['text'],
    [{}],
    [{ providers: [], models: [] }],
    [{ providers: [acme], models: [small], extra: 1 }],
    [{ providers: [acme], models: [small], embeddings: 'small' }],
    [{ providers: [acme], models: [small], embeddings: { model: 'small', dimensions: 8 } }],
  ])('is not %j', (value) => {
    expect(problemsIn(() => Catalogue.parse(value)).length).toBeGreaterThan(0);
  });

  it('has a model for embeddings if it names one of its models', () => {
    const parse = (embeddings?: object): Catalogue =>
      Catalogue.parse({ providers: [acme], models: [small], ...(embeddings && { embeddings }) });
    expect(parse().embeddings).toBeNull();
    expect(parse({ model: 'small' }).embeddings).toBe('small');
    const google = { name: 'google', kind: 'google', base_url: 'https://google.example' };
    const ofGoogle = {
      ...{ providers: [google], models: [{ id: 'vectors', provider: 'google' }] },
      embeddings: { model: 'vectors' },
    };
    expect(Catalogue.parse(ofGoogle).embeddings).toBe('vectors');
    expect(problemsIn(() => parse({ model: 'other' }))).toEqual(['embeddings: there is no model other']);
  });

  it('finds a model that the tenant may use, by its exact id', () => {
    const catalogue = Catalogue.parse({ providers: [acme], models: [small, { ...small, id: 'large' }] });
    expect(catalogue.find('small', null)?.id).toBe('small');
    expect(catalogue.find('small', new AllowedModels(['small']))?.id).toBe('small');
    expect(catalogue.find('small', new AllowedModels(['large']))).toBeUndefined();
    expect(catalogue.find('small', new AllowedModels([]))).toBeUndefined();
    for (const id of ['', 'Small', 'toString', '__proto__']) expect(catalogue.find(id, null)).toBeUndefined();
  });
});

describe('what a request goes to', () => {
  const catalogue = Catalogue.parse({
    providers: [acme],
    models: [
      { ...small, fallbacks: ['large', 'small', 'large', 'huge'] },
      { ...small, id: 'large', fallbacks: ['huge'] },
      { ...small, id: 'huge' },
    ],
  });
  const agent: ResolvedAgent = {
    id: 'a1',
    key: 'helper',
    model: 'large',
    modelFallbacks: [],
    systemPrompt: 'Be kind.',
    parameters: { temperature: 0 },
    settings: { memory: null, tools: null },
    status: 'active',
    created: 0,
  };
  const ids = (target: { chain: readonly { id: string }[] }): string[] =>
    target.chain.map((model) => model.id);

  it('is the model, then its fallbacks, each once and only those that are allowed', () => {
    expect(ids(modelTarget(catalogue, 'small', null))).toEqual(['small', 'large', 'huge']);
    expect(ids(modelTarget(catalogue, 'small', new AllowedModels(['small', 'huge'])))).toEqual([
      'small',
      'huge',
    ]);
    expect(modelTarget(catalogue, 'huge', null)).toMatchObject({
      agentId: null,
      systemPrompt: null,
      defaults: {},
    });
  });

  it.each([
    ['nobody', null],
    ['small', new AllowedModels(['large'])],
    ['agent:helper', null],
  ])('is nothing for %s', (id, allowed) => {
    expect(() => modelTarget(catalogue, id, allowed)).toThrow(
      expect.objectContaining({ code: 'model_not_found', status: 404, param: 'model' }),
    );
  });

  it('is an agent’s model with the agent’s settings, and its own fallbacks before the model’s', () => {
    expect(agentTarget(catalogue, agent, null)).toMatchObject({
      agentId: 'a1',
      systemPrompt: 'Be kind.',
      defaults: { temperature: 0 },
    });
    expect(ids(agentTarget(catalogue, agent, null))).toEqual(['large', 'huge']);
    expect(
      ids(agentTarget(catalogue, { ...agent, modelFallbacks: ['small', 'gone', 'large'] }, null)),
    ).toEqual(['large', 'small']);
    expect(agentTarget(catalogue, { ...agent, systemPrompt: '' }, null).systemPrompt).toBeNull();
  });

  it('is refused for a disabled agent, and for one whose model is gone or not allowed', () => {
    expect(() => agentTarget(catalogue, { ...agent, status: 'disabled' }, null)).toThrow(
      expect.objectContaining({ code: 'agent_disabled', status: 403 }),
    );
    for (const allowed of [new AllowedModels(['small']), new AllowedModels([])]) {
      expect(() => agentTarget(catalogue, agent, allowed)).toThrow(
        expect.objectContaining({ code: 'model_not_found' }),
      );
    }
    expect(() => agentTarget(catalogue, { ...agent, model: 'gone' }, null)).toThrow(
      expect.objectContaining({ code: 'model_not_found' }),
    );
  });

  it('is recognized as an agent by its prefix', () => {
    expect(['agent:helper', 'agent:', 'agents', 'Agent:x', 'x/agent:y'].map(agentRef)).toEqual([
      'helper',
      '',
      null,
      null,
      null,
    ]);
    expect(modelNotFound('x'.repeat(10_000), []).message.length).toBeLessThan(400);
  });
});

it('an agent’s parameters are those that a model takes', () => {
  const parameters = { temperature: 0.5, max_tokens: 9, stop: 'x' };
  const taken = (upstreamModel: string, effort: string | null = null) =>
    takenDefaults(
      { upstreamModel },
      { target: { defaults: parameters }, request: { thinking: () => ({ budgets: [], effort }) } },
    );
  expect(taken('gpt-4.1')).toEqual({ defaults: parameters, ignored: [] });
  expect(taken('gpt-5')).toEqual({
    defaults: { max_completion_tokens: 9 },
    ignored: ['temperature', 'stop'],
  });
  for (const [name, effort] of [['gpt-5.1', null] as const, ['gpt-5.5', 'none'] as const])
    expect(taken(name, effort)).toMatchObject({ ignored: ['stop'] });
  for (const [name, effort] of [['gpt-5.1', 'low'] as const, ['gpt-5.5', null] as const])
    expect(taken(name, effort)).toMatchObject({ ignored: ['temperature', 'stop'] });
  expect(taken('claude-opus-4-8')).toEqual({
    defaults: { max_tokens: 9, stop: 'x' },
    ignored: ['temperature'],
  });
});

describe('a model whose provider names it by an ARN', () => {
  const bedrock = { name: 'bedrock', kind: 'bedrock', region: 'us-east-1', api_key_env: 'KEY' };
  const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/q1w2e3';
  const factsFor = (fields: object) => {
    const models = [{ id: 'm', provider: 'bedrock', upstream_model: arn, ...fields }];
    const model = Catalogue.parse({ providers: [bedrock], models }).models.get(
      (fields as { id?: string }).id ?? 'm',
    );
    return model === undefined ? null : factsBy(model);
  };

  it.each([
    [{ family: 'claude-sonnet-4-5' }, 'claude', 405],
    [{ family: 'claude' }, 'claude', null],
    [{ id: 'claude-opus-4-8' }, 'claude', 408],
    [{ aliases: ['sonnet', 'claude-sonnet-4-5'] }, 'claude', 405],
    [{ id: 'claude-opus-4-8', family: 'nova-pro' }, 'nova', null],
    [{}, 'other', null],
    // InvokeModel has Anthropic's messages for Claude alone.
    [{ api: 'messages' }, 'claude', null],
    [{ api: 'messages', aliases: ['claude-sonnet-4-5'] }, 'claude', 405],
    [{ api: 'messages', upstream_model: 'zai.glm-5' }, 'other', null],
    // A name of the catalogue says nothing of a model that has one of its own.
    [{ id: 'claude-opus-4-8', upstream_model: 'zai.glm-5' }, 'other', null],
  ])('has with %j the facts of %s %j', (fields, family, version) => {
    expect(factsFor(fields)).toMatchObject({ family, version });
  });

  it('can be of known families only', () => {
    const models = [{ id: 'm', provider: 'bedrock', upstream_model: arn, family: 'calude' }];
    expect(() => Catalogue.parse({ providers: [bedrock], models })).toThrow(
      'models.0.family: must be a public name of a model, or of a family: claude, nova, openai',
    );
  });
});
