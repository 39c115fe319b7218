import { describe, expect, it } from '@jest/globals';
import { AllowedModels } from '@gatehouse/contract/allowed-models';
import { Catalogue } from './catalogue.ts';
import { nearestModels } from './nearest-models.ts';
import { Pricing } from './pricing.ts';
import { agentRef, modelTarget } from './target.ts';
import { noUsage } from '@gatehouse/dialects/usage/usage';

const providers = [
  { name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1' },
  { name: 'google', kind: 'google', base_url: 'https://google.example' },
];
const entries = [
  { id: 'claude-opus', provider: 'acme', aliases: ['opus', 'claude-best'] },
  { id: 'claude-*', provider: 'acme', list: ['claude-sonnet', 'claude-haiku'] },
  { id: 'claude-3-*', provider: 'acme', upstream_model: 'old/claude-3-*' },
  { id: 'tuned/*', provider: 'google', upstream_model: 'tunedModels/*' },
  { id: 'own-*', provider: 'acme', upstream_model: 'llama', fallbacks: ['opus', 'claude-sonnet'] },
];
const catalogue = Catalogue.parse({ providers, models: entries });
const upstreamOf = (name: string, allowed?: string[]): string | undefined =>
  catalogue.find(name, allowed === undefined ? null : new AllowedModels(allowed))?.upstreamModel;

describe('a name', () => {
  it.each([
    ['claude-opus', 'claude-opus'],
    ['opus', 'claude-opus'],
    ['claude-best', 'claude-opus'],
    ['claude-sonnet-5@20260101', 'claude-sonnet-5@20260101'],
    ['claude-', 'claude-'],
    ['claude-3-haiku', 'old/claude-3-haiku'],
    ['claude-3', 'claude-3'],
    ['tuned/mine', 'tunedModels/mine'],
    ['own-anything', 'llama'],
  ])('%s leads to its exact model, else to the longest pattern: %s', (name, upstream) => {
    expect(upstreamOf(name)).toBe(upstream);
  });

  it.each([
    ...['claude-*', 'claude', 'Claude-opus', 'claude-a b', 'claude-\u0000', 'claude-\u00e9', 'claude-?x=1'],
    ...['claude-#x', 'claude-%2e', 'claude-a\\b', `claude-${'x'.repeat(250)}`, 'claude-a//b', 'claude-a/'],
    ...['tuned/..', 'tuned/../x', 'tuned/.', 'tuned/a/../../files', 'tuned/', 'own-*'],
  ])('%j leads nowhere', (name) => {
    expect(upstreamOf(name)).toBeUndefined();
  });

  it.each([
    ['claude-opus[1m]', 'claude-opus'],
    ['opus[1M]', 'claude-opus'],
    ['opus [1m]', 'claude-opus'],
    ['opus[1M][1m] ', 'claude-opus'],
    ['claude-sonnet-5[1m]', 'claude-sonnet-5'],
    ['own-x[1m]', 'llama'],
    ['claude-[1m]-x', undefined],
    ['[1m]', undefined],
  ])('%j that asks for a long context is that of the model %s', (name, upstream) => {
    expect(upstreamOf(name)).toBe(upstream);
  });

  it.each([
    ['spaces', `claude-${' '.repeat(300_000)}x`],
    ['marks', `claude-${'[1m]'.repeat(75_000)}x`],
    ['marks at its end', `opus${' [1m]'.repeat(60_000)}`],
  ])('of many %s leads nowhere at once', (_, name) => {
    const began = performance.now();
    expect(upstreamOf(name)).toBeUndefined();
    expect(agentRef(`agent:${name}`)).toBe(name);
    expect(performance.now() - began).toBeLessThan(500);
  });

  it('with the same end in the catalogue is its own', () => {
    const models = [...entries, { id: 'opus[1m]', provider: 'acme', upstream_model: 'longer' }];
    expect(Catalogue.parse({ providers, models }).find('opus[1m]', null)?.upstreamModel).toBe('longer');
  });

  it('behind a pattern keeps its model, which has the settings of the pattern', () => {
    const found = catalogue.find('claude-3-haiku', null);
    expect(catalogue.find('claude-3-haiku', null)).toBe(found);
    expect(found).toMatchObject({ id: 'claude-3-haiku', list: [], reasoning: false });
    expect(found?.pattern).toBe(catalogue.models.get('claude-3-*'));
  });

  it('behind a pattern may be a fallback or the model for embeddings', () => {
    const { chain } = modelTarget(catalogue, 'own-x', null);
    expect(chain.map(({ id }) => id)).toEqual(['own-x', 'claude-opus', 'claude-sonnet']);
    const embeddings = { model: 'claude-embed' };
    expect(Catalogue.parse({ providers, models: entries, embeddings }).embeddings).toBe('claude-embed');
  });

  it('behind a pattern has a price in every process that reads the catalogue', () => {
    const price = { input_per_mtok: '3', output_per_mtok: '9' };
    const models = [{ id: 'own-*', provider: 'acme', upstream_model: 'x/*', price }];
    const pricing = new Pricing(Catalogue.parse({ providers, models }), null);
    const usage = { ...noUsage, inputTokens: 2 };
    const costOf = (upstreamModel: string) =>
      pricing.costOfRecorded({ provider: 'acme', model: 'own-x', upstreamModel }, usage, {
        at: new Date(),
        serviceTier: null,
      });
    expect(costOf('x/x')).toMatchObject({ costPico: 6_000_000n, source: 'catalogue' });
    // As in a catalogue of another release.
    expect(costOf('y/x')).toBeNull();
  });

  it('behind a pattern keeps its model while others look for the nearest names', () => {
    const models = ['claude-', 'other-'].map((beginning) => ({
      ...{ id: `${beginning}*`, provider: 'acme' },
      list: Array.from({ length: 1_000 }, (_, count) => `${beginning}${count}`),
    }));
    const patterns = Catalogue.parse({ providers, models });
    const found = patterns.find('claude-opus', null);
    expect(nearestModels(patterns, 'claud-1', new AllowedModels([]))).toEqual([]);
    expect(nearestModels(patterns, 'claud-1', null)).toContain('claude-1');
    expect(patterns.find('claude-opus', null)).toBe(found);
  });

  it('costs the same memory however many names clients invent', () => {
    const first = catalogue.find('claude-first', null);
    for (let count = 0; count < 1_000; count += 1) catalogue.find(`claude-${count}`, null);
    expect(catalogue.find('claude-first', null)).not.toBe(first);
  });
});

describe('a list of allowed models', () => {
  it.each([
    ['opus', ['claude-opus'], true],
    ['claude-opus', ['opus'], true],
    ['claude-best', ['opus'], true],
    ['opus', ['claude-*'], true],
    // Patterns of the list are about ids, whatever other names begin so.
    ['opus', ['op*'], false],
    ['claude-opus', ['op*'], false],
    ['claude-sonnet', ['claude-sonnet'], true],
    ['claude-haiku', ['claude-sonnet'], false],
    ['claude-haiku', ['claude-*'], true],
    ['claude-3-haiku', ['claude-3-*'], true],
    ['claude-3-haiku', ['old/*'], false],
    ['own-x', ['llama'], false],
    ['tuned/x', ['claude-*'], false],
    ['tuned/x', ['*'], true],
    ['opus', [], false],
  ])('for %s: %j is %s', (name, allowed, expected) => {
    expect(upstreamOf(name, allowed) !== undefined).toBe(expected);
  });

  it.each<[string, string[], boolean]>([
    ['deepseek/deepseek-r1', ['router/*'], true],
    ['deepseek/deepseek-r1', ['router/deepseek/*'], true],
    ['deepseek/deepseek-r1', ['router/deepseek/deepseek-r1'], true],
    ['deepseek/deepseek-r1:free', ['router/deepseek/deepseek-r1'], false],
    ['deepseek/deepseek-r1', ['router/meta/*'], false],
    ['deepseek/deepseek-r1', ['deepseek/*'], false],
    // The longer pattern has the name.
    ['meta/llama', ['router/*'], false],
    // OpenRouter's and Vertex AI's own choice.
    ['openrouter:fusion', ['router/*'], false],
    ['autoMode', ['router/*'], false],
    ['modelConfig', ['router/*'], false],
    ['elsewhere/llama', ['router/*'], true],
    ['old/claude-3-haiku', ['claude-3-*'], true],
    ['old/claude-3-haiku', ['claude-haiku'], false],
    ['deepseek/../keys', ['*'], false],
    ['own-fixed', ['own-fixed'], true],
    ['second/x', ['both/*'], true],
    ['claude-sonnet', ['claude-sonnet'], true],
    ['opus', ['claude-*'], false],
    ['tunedModels/x', ['tuned/*'], false],
  ])('reaches the name %s at a provider by %j: %s', (name, allowed, expected) => {
    const deployments = ['first/*', 'second/*'].map((upstream_model) => ({
      ...{ provider: 'acme', upstream_model },
    }));
    const models = [
      ...entries,
      { id: 'router/*', provider: 'acme', upstream_model: '*' },
      { id: 'router/meta/*', provider: 'acme', upstream_model: 'elsewhere/*' },
      { id: 'own-f*', provider: 'acme', upstream_model: 'own-fixed' },
      { id: 'both/*', deployments },
    ];
    const reaching = Catalogue.parse({ providers, models });
    expect(reaching.reaches(name, new AllowedModels(allowed), new Set(['acme']))).toBe(expected);
  });

  it('reaches names behind a pattern at each provider, or not at all', () => {
    const deployments = [
      { provider: 'acme', upstream_model: '*' },
      { provider: 'google', upstream_model: 'g/*' },
    ];
    const reaching = Catalogue.parse({ providers, models: [{ id: 'any/*', deployments }] });
    const reaches = (name: string, ...at: string[]): boolean =>
      reaching.reaches(name, new AllowedModels(['any/*']), new Set(at));
    expect([reaches('g/x', 'acme'), reaches('g/x', 'google')]).toEqual([true, true]);
    expect([reaches('g/x', 'acme', 'google'), reaches('x', 'acme', 'google')]).toEqual([true, false]);
    expect([reaches('x', 'acme'), reaches('x', 'google')]).toEqual([true, false]);
  });

  it('counts for fallbacks, too', () => {
    const { chain } = modelTarget(catalogue, 'own-x', new AllowedModels(['own-*', 'claude-sonnet']));
    expect(chain.map(({ id }) => id)).toEqual(['own-x', 'claude-sonnet']);
  });
});

it('mistakes in names are listed at once', () => {
  const provider = 'acme';
  const models = [
    { id: 'a', provider, aliases: ['b'], list: ['c'] },
    { id: 'b', provider, upstream_model: 'b-*' },
    { id: 'c-*', provider, aliases: ['c'], list: ['d', 'c-d-e', 'c-f', 'c- g'] },
    { id: 'c-d-*', provider, fallbacks: ['c-*', 'c-d-x'] },
  ];
  let message = '';
  try {
    Catalogue.parse({ providers, models, embeddings: { model: 'missing' } });
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(message.split('\n  ').slice(1)).toEqual([
    'b is there twice',
    'model a: only a pattern has a list',
    'model b: upstream_model ends in *, but the id does not',
    'model c-*: a pattern has no aliases',
    'model a: c in its list is no name behind it',
    'model c-*: d in its list is no name behind it',
    'model c-*: c-d-e in its list is no name behind it',
    'model c-*: c- g in its list is no name behind it',
    'model c-d-*: there is no fallback model c-*',
    'embeddings: there is no model missing',
  ]);
  for (const wrong of [
    { id: 'a*b' },
    { id: '*a*' },
    { id: 'a', aliases: ['b*'] },
    { id: 'a', aliases: ['agent:b'] },
  ])
    expect(() => Catalogue.parse({ providers, models: [{ provider, ...wrong }] })).toThrow(/models\.0\./);
});

it.each([
  ['gpt-5.4', true],
  ['openai/o4-mini', true],
  ['gpt-5-chat-latest', false],
  ['gpt-4.1-mini', false],
  ['claude-3-5-haiku', false],
  ['us.anthropic.claude-3-5-sonnet-20240620-v1:0', false],
  ['anthropic.claude-v2:1', false],
  ['claude-3-7-sonnet', undefined],
  ['own-model', undefined],
])('knows by the name %s whether a model reasons, unless the catalogue says it', (name, expected) => {
  const reasoningOf = (fields: object): boolean | undefined =>
    Catalogue.parse({
      providers: [{ name: 'p', kind: 'openai', base_url: 'http://127.0.0.1:1' }],
      models: [{ id: 'm', provider: 'p', upstream_model: name, ...fields }],
    }).find('m', null)?.reasoning;
  expect(reasoningOf({})).toBe(expected);
  expect(reasoningOf({ reasoning: expected !== true })).toBe(expected !== true);
});
