import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { begin, end, factsTable } from '../test/facts-table.ts';
import { factsOf, originOf } from './model-facts.ts';
import { plainName, versionOf } from './model-names.ts';
import { rows } from './model-rows.ts';

describe('the plain name of', () => {
  it.each([
    ['claude-opus-4-7', 'claude-opus-4-7'],
    ['us.anthropic.claude-opus-4-7-20260101-v1:0', 'claude-opus-4-7'],
    ['global.anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
    ['anthropic/claude-opus-4.7', 'claude-opus-4.7'],
    ['openrouter/anthropic/claude-opus-4.7:thinking', 'claude-opus-4.7'],
    ['claude-opus-4-5@20251101', 'claude-opus-4-5'],
    ['publishers/anthropic/models/claude-opus-4-5@20251101', 'claude-opus-4-5'],
    [
      'arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0',
      'claude-opus-4-5',
    ],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/q1w2', 'q1w2'],
    ['anthropic.claude-v2:1', 'claude-v2'],
    ['Claude-Opus-5-5 [1M]', 'claude-opus-5-5'],
    ['models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['ft:gpt-4o-2024-08-06:org::id', 'gpt-4o'],
    ['openai.gpt-oss-120b-1:0', 'gpt-oss-120b-1'],
    ['moonshotai.kimi-k2.5', 'kimi-k2.5'],
    ['deepseek-ai/DeepSeek-V4', 'deepseek-v4'],
    ['amazon.nova-pro-v1:0', 'nova-pro'],
  ])('%s is %s', (name, plain) => {
    expect(plainName(name)).toBe(plain);
  });
});

it.each([
  `claude-${' '.repeat(300_000)}x`,
  `${'[1m]'.repeat(75_000)}x`,
  '1'.repeat(300_000),
  'gemini-'.repeat(40_000),
])('a name too long for a model is of no family, at once', (name) => {
  const began = performance.now();
  expect(factsOf({ name }).family).toBe('other');
  expect(performance.now() - began).toBeLessThan(500);
});

describe('the version of', () => {
  it.each([
    ['claude-opus-4-7', 'claude', 407],
    ['claude-4.7-opus', 'claude', 407],
    ['claude-3-5-sonnet', 'claude', 305],
    ['claude-3-opus', 'claude', 300],
    ['claude-opus-4-20250514', 'claude', 400],
    ['claude-opus-5', 'claude', 500],
    ['claude-instant-1.2', 'claude', 102],
    ['claude-v2', 'claude', 200],
    ['claude-kit', 'claude', null],
    ['gpt-5.6-luna', 'openai', 506],
    ['gpt-35-turbo', 'openai', 305],
    ['gpt-4o-mini', 'openai', 400],
    ['prod-gpt-5-mini', 'openai', 500],
    ['o4-mini', 'openai', 400],
    ['o1ai-large', 'other', null],
    ['gpt-oss-120b', 'gpt-oss', null],
    ['gemini-2.5-pro', 'gemini', 205],
    ['gemini-3-pro-preview', 'gemini', 300],
    ['gemini-pro-latest', 'gemini', 9_999],
    ['claude-sonnet-latest', 'claude', 9_999],
    ['codex-mini-latest', 'openai', null],
    ['kimi-latest', 'kimi', null],
    ['nova-pro', 'nova', null],
    ['my-claude-proxy-gpt-5', 'other', null],
    ['deepseek-v3.2-exp', 'deepseek', 302],
    ['grok-4.20-reasoning', 'grok', 420],
    ['llama-3.3-70b', 'other', null],
  ])('%s is of %s %j', (name, family, version) => {
    expect(versionOf(name)).toEqual({ family, version });
  });
});

it('the newest model, whichever it is, has the facts of its newest version', () => {
  const gemini = factsOf({ name: 'gemini-flash-latest' });
  expect(gemini).toMatchObject({ checksCallSignatures: true, takesPrefill: false });
  const claude = factsOf({ name: 'claude-opus-latest' });
  expect({ ...claude, version: 505 }).toEqual(factsOf({ name: 'claude-opus-5-5' }));
});

it('a name of the operator stands for the rules of another', () => {
  const arn = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/q1w2';
  expect(factsOf({ name: arn }).family).toBe('other');
  const named = { name: arn, rulesName: 'claude-sonnet-4-5' };
  expect(factsOf(named)).toEqual(factsOf({ name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' }));
  expect(originOf(named)).toBe('anthropic');
});

it('what the operator says goes over the rules', () => {
  const set = { sampling: false, thinkingOff: false, context1m: true, limitField: 'max_tokens' } as const;
  expect(factsOf({ name: 'claude-sonnet-4-5', ...set })).toMatchObject({
    ...{ sampling: 'none', thinkingOff: 'never', limitField: 'max_tokens' },
    context1m: { anthropic: 'beta', bedrock: 'beta' },
  });
});

it('the page for operators has the table of these facts', () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../../docs/operators/models.md'), 'utf8');
  const plain = (table = ''): string => table.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-').trim();
  expect(plain(page.split(begin)[1]?.split(end)[0])).toBe(plain(factsTable()));
});

it('each row has a public source and the day on which it was read', () => {
  for (const { source, read } of rows) {
    expect(source).toMatch(/^https:\/\//);
    expect(read).toMatch(/^2026-\d\d-\d\d$/);
  }
});
