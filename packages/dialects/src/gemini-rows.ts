import type { FactsRow } from './known-facts.ts';

const day = '2026-11-29';
const whatsNewIn36 = 'https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6';

/** Google's models. */
export const gemini: readonly FactsRow[] = [
  {
    ...{ family: 'gemini', from: 400, names: /hydrogen/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high', 'xhigh'] } },
    source: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-4-hydrogen',
    read: '2026-11-30',
  },
  {
    // Pro models and all of Gemini 4 refuse `minimal`.
    ...{ family: 'gemini', from: 300, names: /-pro|gemini-[4-9]/ },
    facts: { thinkingSize: { by: 'effort', words: ['low', 'medium', 'high'] } },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thinking', read: day },
  },
  {
    // Google ignores temperature, topP and topK since these, and has announced to refuse them. Some clients have seen
    // it (https://github.com/Zoo-Code-Org/Zoo-Code/issues/1052).
    ...{ family: 'gemini', from: 306 },
    facts: { sampling: 'none' },
    ...{ source: whatsNewIn36, read: '2026-11-30' },
  },
  {
    ...{ family: 'gemini', from: 305, names: /flash-lite/ },
    facts: { sampling: 'none' },
    ...{ source: whatsNewIn36, read: '2026-11-30' },
  },
  {
    ...{ family: 'gemini', from: 305 },
    facts: { takesPenalties: false, takesPrefill: false },
    source: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-5-flash-lite',
    read: day,
  },
  {
    ...{ family: 'gemini', from: 300 },
    facts: {
      thinkingSize: { by: 'effort', words: ['minimal', 'low', 'medium', 'high'] },
      checksCallSignatures: true,
    },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thought-signatures', read: day },
  },
  {
    ...{ family: 'gemini', to: 299 },
    facts: { takesToolsWithFormat: false },
    ...{ source: 'https://github.com/googleapis/python-genai/issues/867', read: day },
  },
  {
    ...{ family: 'gemini', names: /flash-lite/ },
    facts: { thinkingSize: { by: 'budget', off: 0, least: 512, most: 24_576 } },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thinking', read: day },
  },
  {
    ...{ family: 'gemini', from: 205, names: /-pro/ },
    facts: { thinkingSize: { by: 'budget', off: 128, least: 128, most: 32_768 } },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thinking', read: day },
  },
  {
    ...{ family: 'gemini', names: /-pro/ },
    facts: { thinkingSize: { by: 'budget', off: 128, least: 128, most: 24_576 } },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thinking', read: day },
  },
  {
    family: 'gemini',
    facts: {
      thinkingSize: { by: 'budget', off: 0, least: 1, most: 24_576 },
      context1m: { anthropic: 'native', bedrock: 'native' },
    },
    ...{ source: 'https://ai.google.dev/gemini-api/docs/thinking', read: day },
  },
];
