import { ChatHarness } from './chat-harness.ts';
import type { ScriptedProvider } from './scripted-provider.ts';
import type { Fields } from './translated-answers.ts';

/**
 * Chat before one scripted server: it is the provider `simulator` with OpenAI's API, `quick` with Anthropic's and
 * `wrongkey` with Google's.
 */
export function translatingHarness(
  provider: ScriptedProvider,
  models: readonly Fields[],
): Promise<ChatHarness> {
  const common = { base_url: provider.url, max_retries: 0, api_key_env: 'UNUSED' };
  const providers = [
    { ...common, name: 'simulator', kind: 'openai' },
    { ...common, name: 'quick', kind: 'anthropic' },
    { ...common, name: 'wrongkey', kind: 'google' },
  ];
  return ChatHarness.start({}, { providers, models, embeddings: undefined });
}
