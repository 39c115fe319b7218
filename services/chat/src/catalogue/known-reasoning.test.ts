import { expect, it } from '@jest/globals';
import { Catalogue } from './catalogue.ts';

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
