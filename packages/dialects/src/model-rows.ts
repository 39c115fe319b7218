import type { KnownFacts } from './known-facts.ts';
import type { ModelFamily, ModelVersion } from './model-names.ts';

/** Facts of some models of a family. */
export interface FactsRow {
  family: ModelFamily;
  /** The first and the last version; absent for all from the one, or up to the other. Both absent: also without a version. */
  from?: number;
  to?: number;
  /** Plain names, where not all of the versions are meant. */
  names?: RegExp;
  facts: Partial<Omit<KnownFacts, keyof ModelVersion>>;
  /** A public page with the rule. */
  source: string;
  /** The day on which the page was read. */
  read: string;
}

/** Facts of models without a rule. */
export const defaults: Omit<KnownFacts, keyof ModelVersion> = {
  reasoning: undefined,
  sampling: 'all',
  hasOneSampling: false,
  thinkingSize: { by: 'effort', words: ['minimal', 'low', 'medium', 'high'] },
  thinkingOff: 'disabled',
  mostEffortOff: 'max',
  forcedCalls: 'any',
  needsOpenThoughts: false,
  bindsThinking: false,
  takesPrefill: true,
  takesSystemInMiddle: false,
  takesOutputSchema: true,
  takesToolsWithFormat: true,
  toolsNeedNoEffort: false,
  checksCallSignatures: false,
  wantsReasoningText: false,
  cachePoints: 'none',
  context1m: { anthropic: 'none', bedrock: 'none' },
  limitField: null,
};

/** Rules by family and version, the newest first: the first row with a fact decides it. */
export const rows: readonly FactsRow[] = [
  {
    ...{ family: 'claude', from: 408 },
    facts: { takesSystemInMiddle: true },
    source: 'https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', from: 406 },
    facts: { takesPrefill: false },
    source: 'https://github.com/strands-agents/sdk-python/issues/1694',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', from: 406 },
    facts: {
      thinkingSize: { by: 'effort', words: ['low', 'medium', 'high', 'xhigh', 'max'] },
    },
    source: 'https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', from: 405 },
    facts: { cachePoints: '1h' },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', to: 306, names: /^claude-(?!3[-.]5-haiku|3[-.]5-sonnet)/ },
    facts: { cachePoints: 'none', reasoning: false },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', to: 306 },
    facts: { reasoning: false },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    read: '2026-11-29',
  },
  {
    ...{ family: 'claude', to: 404 },
    // Opus 4.1 has it by a beta alone.
    facts: { takesOutputSchema: false },
    source: 'https://platform.claude.com/docs/en/build-with-claude/structured-outputs',
    read: '2026-11-29',
  },
  {
    family: 'claude',
    facts: {
      cachePoints: '5m',
      thinkingSize: { by: 'budget', off: 0, least: 1_024, most: 65_536 },
      forcedCalls: 'offOnly',
      needsOpenThoughts: true,
    },
    source: 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking',
    read: '2026-11-29',
  },
  {
    family: 'nova',
    facts: { cachePoints: '5m' },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    read: '2026-11-29',
  },
  {
    ...{ family: 'openai', names: /chat|gpt-[34](?!\d)|gpt-35/ },
    facts: { reasoning: false },
    source: 'https://platform.openai.com/docs/models',
    read: '2026-11-29',
  },
  {
    ...{ family: 'openai', from: 502 },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] } },
    source: 'https://platform.openai.com/docs/guides/reasoning',
    read: '2026-11-29',
  },
  {
    ...{ family: 'openai', from: 501 },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'minimal', 'low', 'medium', 'high'] } },
    source: 'https://platform.openai.com/docs/guides/reasoning',
    read: '2026-11-29',
  },
  {
    family: 'openai',
    facts: { reasoning: true },
    source: 'https://platform.openai.com/docs/guides/reasoning',
    read: '2026-11-29',
  },
  {
    ...{ family: 'gemini', from: 300 },
    facts: {
      thinkingSize: { by: 'effort', words: ['low', 'medium', 'high'] },
      checksCallSignatures: true,
    },
    source: 'https://ai.google.dev/gemini-api/docs/gemini-3',
    read: '2026-11-29',
  },
  {
    family: 'gemini',
    facts: { thinkingSize: { by: 'budget', off: 0, least: 0, most: 24_576 } },
    source: 'https://ai.google.dev/gemini-api/docs/thinking',
    read: '2026-11-29',
  },
];
