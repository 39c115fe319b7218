import { describe, expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { modelTarget, type Target } from '../catalogue/target.ts';
import { CallBetas } from './model-betas.ts';

const key = { api_key_env: 'KEY' };
const providers = [
  { name: 'anthropic', kind: 'anthropic', base_url: 'https://api.anthropic.com', ...key },
  { name: 'bedrock', kind: 'bedrock', region: 'us-east-1', ...key },
  { name: 'vertex', kind: 'vertex', project: 'p', region: 'eu', credentials_file: '/nowhere' },
  { name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1', ...key },
];

function modelAt(provider: string, fields: object): { model: Model; target: Target } {
  const models = [{ id: 'm', provider, ...fields }];
  const catalogue = Catalogue.parse({ providers, models });
  const target = modelTarget(catalogue, 'm', null);
  return { model: target.chain[0], target };
}

const long = 'context-1m-2025-08-07';
const binding = 'thinking-binding-controls-2026-08-01';

describe('a long context that a request asks for', () => {
  it.each([
    ['anthropic', { upstream_model: 'claude-opus-5-5' }, undefined, []],
    ['anthropic', { upstream_model: 'claude-sonnet-4-6' }, undefined, []],
    ['anthropic', { upstream_model: 'claude-sonnet-4-5' }, undefined, ['context-1m']],
    ['anthropic', { upstream_model: 'claude-haiku-4-5' }, undefined, ['context-1m']],
    ['anthropic', { upstream_model: 'claude-x', context_1m: true }, long, []],
    ['bedrock', { upstream_model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' }, long, []],
    ['bedrock', { upstream_model: 'us.anthropic.claude-opus-4-6-v1', api: 'messages' }, long, []],
    [
      'bedrock',
      { upstream_model: 'us.anthropic.claude-opus-4-6-v1', context_1m: false },
      undefined,
      ['context-1m'],
    ],
    ['openai', { upstream_model: 'gpt-5.4' }, undefined, ['context-1m']],
  ])('from %s with %j: beta %s, left out %j', (provider, fields, beta, ignored) => {
    const { model, target } = modelAt(provider, fields);
    const betas = new CallBetas({ ...target, asksLong: true }, {}, false);
    expect(betas.headers(model, false)['anthropic-beta']).toBe(beta);
    expect(betas.ignored(model)).toEqual(ignored);
    const others = new CallBetas(target, {}, false);
    expect([others.headers(model, false), others.ignored(model)]).toEqual([{}, []]);
  });

  it('stands beside the betas of the client, once', () => {
    const { model, target } = modelAt('bedrock', { upstream_model: 'anthropic.claude-sonnet-4-5' });
    const headers = { 'anthropic-beta': `x-1, ${long}`, other: 'o' };
    const betas = new CallBetas({ ...target, asksLong: true }, headers, false);
    expect(betas.headers(model, false)).toEqual({ 'anthropic-beta': `x-1,${long}`, other: 'o' });
  });
});

it.each([
  ['anthropic', 'claude-opus-5-5'],
  ['bedrock', 'us.anthropic.claude-fable-5-1-v1:0'],
  ['vertex', 'claude-fable-5-1@20260901'],
])('thoughts at %s may be left out behind what the gateway changes', (provider, name) => {
  const { model, target } = modelAt(provider, { upstream_model: name, api: 'messages' });
  const own = new CallBetas(target, {}, false);
  expect([own.of(model, false), own.of(model, true)]).toEqual([[], [binding]]);
  expect(new CallBetas(target, {}, true).of(model, false)).toEqual([binding]);
  const reference = { index: 0, content: 'x' };
  expect(new CallBetas({ ...target, reference }, {}, false).of(model, false)).toEqual([binding]);
  // Without the beta, translation leaves out the thoughts instead.
  expect(own.of(model, true, new Set([binding]))).toEqual([]);
  // Neither runs the check.
  for (const older of ['claude-opus-5', 'claude-mythos-5-1']) {
    const unbound = modelAt(provider, { upstream_model: older, api: 'messages' });
    expect(new CallBetas(unbound.target, {}, true).of(unbound.model, true)).toEqual([]);
  }
});
