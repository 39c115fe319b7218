import { gemini } from './gemini-rows.ts';
import type { FactsRow, KnownFacts } from './known-facts.ts';
import type { ModelVersion } from './model-names.ts';

/** Facts of models without a rule. */
export const defaults: Omit<KnownFacts, keyof ModelVersion> = {
  reasoning: undefined,
  takesStop: true,
  sampling: 'all',
  takesPenalties: true,
  thinkingSize: { by: 'effort', words: ['minimal', 'low', 'medium', 'high'] },
  thinksByDefault: false,
  thinkingOff: 'disabled',
  offField: 'reasoning_effort',
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

const claudeDocs = 'https://platform.claude.com/docs/en';
const bedrockDocs = 'https://docs.aws.amazon.com/bedrock/latest/userguide';
const day = '2026-11-29';
const today = '2026-11-30';
const toMax = { by: 'effort', words: ['low', 'medium', 'high', 'xhigh', 'max'] } as const;

/** Anthropic's models. A newer version takes the facts of the newest one that is known. */
const claude: readonly FactsRow[] = [
  {
    ...{ family: 'claude', from: 505, names: /opus/ },
    facts: { thinkingOff: 'never', forcedCalls: 'never' },
    ...{ source: `${claudeDocs}/models/opus-5-5/whats-new-opus-5-5`, read: day },
  },
  {
    ...{ family: 'claude', from: 505, names: /sonnet/ },
    facts: { thinkingOff: 'between_tools', forcedCalls: 'never' },
    ...{ source: `${claudeDocs}/models/sonnet-5-5/whats-new-sonnet-5-5`, read: day },
  },
  {
    ...{ family: 'claude', from: 501, names: /fable|mythos/ },
    facts: { forcedCalls: 'never' },
    ...{ source: `${claudeDocs}/models/fable-5-1/whats-new-fable-5-1`, read: day },
  },
  {
    ...{ family: 'claude', names: /fable|mythos/ },
    facts: { thinkingOff: 'never' },
    ...{ source: `${bedrockDocs}/claude-messages-adaptive-thinking.html`, read: day },
  },
  {
    ...{ family: 'claude', from: 501, names: /^(?!.*mythos)/ },
    facts: { bindsThinking: true },
    ...{ source: `${bedrockDocs}/claude-messages-thinking-block-binding.html`, read: today },
  },
  {
    // Sources differ on Claude Sonnet 5.
    ...{ family: 'claude', from: 500, to: 504, names: /sonnet/ },
    facts: { takesSystemInMiddle: false },
    ...{ source: 'https://apidog.com/blog/claude-sonnet-5-5-vs-sonnet-5/', read: day },
  },
  {
    ...{ family: 'claude', from: 500 },
    facts: {
      thinksByDefault: true,
      thinkingOff: 'disabled',
      forcedCalls: 'any',
      context1m: { anthropic: 'native', bedrock: 'native' },
    },
    ...{ source: `${claudeDocs}/models/opus-5/migration-guide`, read: day },
  },
  {
    ...{ family: 'claude', from: 408 },
    facts: { takesSystemInMiddle: true, context1m: { anthropic: 'native', bedrock: 'native' } },
    ...{ source: `${claudeDocs}/build-with-claude/mid-conversation-system-messages`, read: day },
  },
  {
    ...{ family: 'claude', names: /mythos-preview/ },
    facts: {
      sampling: 'none',
      thinksByDefault: true,
      thinkingSize: toMax,
      forcedCalls: 'any',
      needsOpenThoughts: false,
      takesPrefill: false,
    },
    ...{ source: `${bedrockDocs}/claude-messages-adaptive-thinking.html`, read: day },
  },
  {
    ...{ family: 'claude', from: 407 },
    facts: { sampling: 'none', thinkingSize: toMax },
    source: 'https://openrouter.ai/docs/guides/evaluate-and-optimize/model-migrations/claude-4-7',
    read: day,
  },
  {
    // Some hosts refuse `disabled`, and thinking is off without a word.
    ...{ family: 'claude', from: 406 },
    facts: {
      thinkingOff: 'omit',
      thinkingSize: { by: 'effort', words: ['low', 'medium', 'high', 'max'] },
      needsOpenThoughts: false,
    },
    ...{ source: `${bedrockDocs}/claude-messages-adaptive-thinking.html`, read: day },
  },
  {
    ...{ family: 'claude', from: 406 },
    facts: { takesPrefill: false },
    ...{ source: 'https://github.com/strands-agents/sdk-python/issues/1694', read: day },
  },
  {
    ...{ family: 'claude', from: 406, names: /opus|sonnet/ },
    facts: { context1m: { anthropic: 'native', bedrock: 'beta' } },
    ...{ source: 'https://github.com/NousResearch/hermes-agent/issues/16793', read: day },
  },
  {
    ...{ family: 'claude', from: 400, to: 405, names: /sonnet/ },
    facts: { context1m: { anthropic: 'none', bedrock: 'beta' } },
    ...{ source: 'https://github.com/adcontextprotocol/adcp/issues/3709', read: day },
  },
  {
    ...{ family: 'claude', from: 405 },
    facts: { cachePoints: '1h' },
    ...{ source: `${bedrockDocs}/prompt-caching.html`, read: day },
  },
  {
    // Opus 4.1 has it by a beta alone.
    ...{ family: 'claude', to: 404 },
    facts: { takesOutputSchema: false },
    ...{ source: `${claudeDocs}/build-with-claude/structured-outputs`, read: day },
  },
  {
    ...{ family: 'claude', to: 306, names: /^claude-(?!3[-.]5-(?:haiku|sonnet)|(?:haiku|sonnet)-3[-.]5)/ },
    facts: { cachePoints: 'none' },
    ...{ source: `${bedrockDocs}/prompt-caching.html`, read: day },
  },
  {
    ...{ family: 'claude', to: 306 },
    facts: { reasoning: false },
    ...{ source: `${claudeDocs}/build-with-claude/extended-thinking`, read: day },
  },
  {
    family: 'claude',
    facts: {
      cachePoints: '5m',
      thinkingSize: { by: 'budget', off: 0, least: 1_024, most: 65_536 },
      forcedCalls: 'offOnly',
      needsOpenThoughts: true,
    },
    ...{ source: `${claudeDocs}/build-with-claude/extended-thinking`, read: day },
  },
];

const openAiCatalogue = 'https://www.npmjs.com/package/@ai-sdk/openai/v/4.0.118';
const openAiEfforts = 'https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort';

/** OpenAI's models. Variants for chats don't think; those for code, and `pro`, think always. */
const openai: readonly FactsRow[] = [
  {
    ...{ family: 'openai', names: /^chatgpt|-chat(?:-latest)?$|gpt-(?:[34](?!\d)|35)/ },
    facts: { reasoning: false, thinksByDefault: false, sampling: 'all', takesStop: true },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    ...{ family: 'openai', names: /^chatgpt|gpt-(?:[34](?!\d)|35)/ },
    facts: { limitField: null },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    ...{ family: 'openai', from: 500, to: 500, names: /-pro/ },
    facts: { thinkingSize: { by: 'effort', words: ['high'] }, sampling: 'none' },
    ...{ source: openAiEfforts, read: day },
  },
  {
    ...{ family: 'openai', from: 502, names: /-pro/ },
    facts: { thinkingSize: { by: 'effort', words: ['medium', 'high', 'xhigh'] } },
    ...{ source: 'https://github.com/anomalyco/models.dev/pull/2351', read: today },
  },
  {
    ...{ family: 'openai', from: 502, names: /-codex/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high', 'xhigh'] } },
    ...{ source: 'https://github.com/anomalyco/models.dev/pull/2472', read: today },
  },
  {
    ...{ family: 'openai', from: 501, names: /-codex-max/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high', 'xhigh'] } },
    ...{ source: 'https://github.com/openai/codex/pull/7449', read: today },
  },
  {
    ...{ family: 'openai', from: 500, names: /-(?:pro|codex)/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high'] }, sampling: 'none' },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    ...{ family: 'openai', from: 600, names: /gpt-6(?:\.\d+)?-(?:luna|terra)|gpt-6-sol/ },
    facts: {
      thinkingSize: { by: 'effort', words: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
      sampling: 'offOnly',
    },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    ...{ family: 'openai', from: 600 },
    facts: { thinkingSize: toMax, sampling: 'none' },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    ...{ family: 'openai', from: 506, to: 599 },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] } },
    ...{ source: 'https://github.com/itzcrazykns/vane/issues/1173', read: day },
  },
  {
    ...{ family: 'openai', from: 504, to: 599 },
    facts: { toolsNeedNoEffort: true },
    ...{ source: 'https://github.com/openai/openai-openapi/issues/541', read: today },
  },
  {
    // From GPT-5.5 on, the effort is `medium` without a word.
    ...{ family: 'openai', from: 501, to: 504 },
    facts: { thinksByDefault: false },
    ...{ source: 'https://github.com/BerriAI/litellm-docs/pull/1064', read: today },
  },
  {
    ...{ family: 'openai', from: 502 },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'low', 'medium', 'high', 'xhigh'] } },
    ...{ source: openAiEfforts, read: day },
  },
  {
    ...{ family: 'openai', from: 501 },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'low', 'medium', 'high'] }, sampling: 'offOnly' },
    ...{ source: openAiEfforts, read: day },
  },
  {
    ...{ family: 'openai', from: 500 },
    facts: { limitField: 'max_completion_tokens' },
    ...{ source: 'https://github.com/langgenius/dify/issues/24307', read: day },
  },
  {
    ...{ family: 'openai', from: 500, to: 500 },
    facts: { thinkingSize: { by: 'effort', words: ['minimal', 'low', 'medium', 'high'] }, sampling: 'none' },
    ...{ source: openAiEfforts, read: day },
  },
  {
    ...{ family: 'openai', names: /^o\d-(?:mini|preview)$/, to: 100 },
    facts: { thinkingSize: { by: 'effort', words: [] } },
    ...{ source: openAiCatalogue, read: day },
  },
  {
    family: 'openai',
    facts: {
      reasoning: true,
      thinksByDefault: true,
      thinkingSize: { by: 'effort', words: ['low', 'medium', 'high'] },
      sampling: 'none',
      // https://github.com/crewAIInc/crewAI/pull/5144, read on 2026-11-30.
      takesStop: false,
      limitField: 'max_completion_tokens',
    },
    ...{ source: openAiCatalogue, read: day },
  },
];

/** Efforts common to the hosts of open models. */
const openSize = { by: 'effort', words: ['none', 'minimal', 'low', 'medium', 'high'] } as const;

/** Models of other makers. */
const others: readonly FactsRow[] = [
  {
    family: 'nova',
    facts: { cachePoints: '5m' },
    ...{ source: `${bedrockDocs}/prompt-caching.html`, read: day },
  },
  {
    // Kimi K2.7 and K3 think always.
    ...{ family: 'kimi', from: 205, to: 206 },
    facts: { offField: 'thinking', thinkingSize: openSize },
    source: 'https://docs.rs/synaps-engine/0.7.0/src/agent_engine/runtime/openai/catalog/kimi.rs.html',
    read: today,
  },
  {
    ...{ family: 'kimi', from: 205 },
    facts: { sampling: 'none', wantsReasoningText: true },
    ...{ source: 'https://github.com/MoonshotAI/kimi-code/issues/686', read: day },
  },
  {
    ...{ family: 'kimi', names: /thinking|for-coding/ },
    facts: { sampling: 'none', wantsReasoningText: true },
    ...{ source: 'https://platform.kimi.ai/docs/api/chat', read: day },
  },
  {
    ...{ family: 'deepseek', names: /reasoner|deepseek-(?:flash|v(?:3[.-][2-9]|[4-9]))/ },
    facts: { wantsReasoningText: true, offField: 'thinking', thinkingSize: openSize },
    ...{ source: 'https://api-docs.deepseek.com/guides/thinking_mode', read: day },
  },
  {
    ...{ family: 'grok', names: /grok-(?:3-mini|[4-9]|code)(?!.*non-reasoning)/ },
    facts: { takesStop: false },
    ...{ source: 'https://github.com/lidge-jun/opencodex/pull/5280', read: today },
  },
  {
    ...{ family: 'grok', names: /grok-4\.3(?!\d)/ },
    facts: { thinkingSize: { by: 'effort', words: ['none', 'low', 'medium', 'high', 'xhigh'] } },
    source: 'https://docs.rs/crate/mindfork/0.17.0/source/src/shared/api/openai/xai_tests.rs',
    read: day,
  },
  {
    ...{ family: 'grok', names: /grok-(?:4\.[4-9]|[5-9])(?!\d)/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high'] } },
    ...{ source: 'https://github.com/anomalyco/opencode/issues/39448', read: day },
  },
  {
    // The others refuse an effort in any word.
    ...{ family: 'grok', names: /^grok-(?!3-mini)/ },
    facts: { thinkingSize: { by: 'effort', words: [] } },
    ...{ source: 'https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fxai@4.0.8', read: day },
  },
];

/** Rules by family, the newest first: the first row with a fact decides it. */
export const rows: readonly FactsRow[] = [...claude, ...openai, ...gemini, ...others];
