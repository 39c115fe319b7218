import { describe, expect, it } from '@jest/globals';
import { factsOf } from '@gatehouse/dialects/model-facts';
import { plainName } from '@gatehouse/dialects/model-names';
import { bedrockBetas } from './bedrock-betas.ts';
import type { Claude } from './hosted-messages.ts';

/** The facts of a model, and its plain name. */
const claudeOf = (name: string): Claude => ({
  name: plainName(name),
  version: factsOf({ name }).version,
});
const namesOf = (betas: readonly string[], model: string): (string | null)[] =>
  betas.map((beta) => bedrockBetas.nameOf(beta, claudeOf(model)));

const interleaved = 'interleaved-thinking-2025-05-14';
const context = 'context-1m-2025-08-07';
const effort = 'effort-2025-11-24';
const search = 'tool-search-tool-2025-10-19';
const compact = 'compact-2026-01-12';
const output = 'output-128k-2025-02-19';
const all = [interleaved, context, effort, search, compact, output];

describe('the betas of a model of Bedrock', () => {
  it.each([
    ['anthropic.claude-3-haiku-20240307-v1:0', []],
    ['anthropic.claude-3-5-sonnet-20241022-v2:0', []],
    ['us.anthropic.claude-3-7-sonnet-20250219-v1:0', [output]],
    ['eu.anthropic.claude-sonnet-4-20250514-v1:0', [interleaved, context, output]],
    ['anthropic.claude-haiku-4-5-20251001-v1:0', [interleaved, output]],
    ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', [interleaved, context, search, output]],
    ['anthropic.claude-opus-4-5-20251101-v1:0', [interleaved, context, effort, search, output]],
    ['anthropic.claude-sonnet-4-6', all],
    ['anthropic.claude-opus-5-v1:0', all],
    // Names without a version.
    ['anthropic.claude-x', all],
    ['claude', all],
    ['arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc', all],
  ])('%s', (model, taken) => {
    expect(namesOf(all, model)).toEqual(all.map((beta) => (taken.includes(beta) ? beta : null)));
    expect(all.filter((beta) => bedrockBetas.isKnown(beta, claudeOf(model)))).toEqual(taken);
  });

  it('have its own names, and no others', () => {
    const asked = ['advanced-tool-use-2025-11-20', search, 'new-1'];
    expect(namesOf(asked, 'anthropic.claude-opus-5')).toEqual([search, search, null]);
    expect(namesOf(asked, 'anthropic.claude-haiku-4-5-20251001-v1:0')).toEqual([null, null, null]);
  });
});
