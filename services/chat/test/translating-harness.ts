import { ChatHarness } from './chat-harness.ts';
import type { ScriptedProvider } from './scripted-provider.ts';
import type { Fields } from './translated-answers.ts';

/** A model of each API, by which `guarded-apis.ts` asks. */
const modelOfEachApi: readonly Fields[] = [
  { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: false },
  { id: 'small', provider: 'simulator', reasoning: false },
  { id: 'claude', provider: 'quick', reasoning: false },
  { id: 'gemini', provider: 'wrongkey', reasoning: false },
];

/**
 * Chat before one scripted server: it is the provider `simulator` with OpenAI's API, `quick` with Anthropic's and
 * `wrongkey` with Google's.
 */
export function translatingHarness(
  provider: ScriptedProvider,
  models: readonly Fields[] = modelOfEachApi,
): Promise<ChatHarness> {
  const common = { base_url: provider.url, max_retries: 0, api_key_env: 'UNUSED' };
  const providers = [
    { ...common, name: 'simulator', kind: 'openai' },
    { ...common, name: 'quick', kind: 'anthropic' },
    { ...common, name: 'wrongkey', kind: 'google' },
  ];
  return ChatHarness.start({}, { providers, models, embeddings: undefined });
}
