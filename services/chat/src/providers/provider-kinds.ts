import type { Provider } from '../catalogue/catalogue.ts';
import type { ProviderCall } from './adapter.ts';

/** How providers of a kind are called. */
export interface ProviderKind {
  /** Headers of each call. `apiKey`: undefined for servers that want none. */
  headers(apiKey: string | undefined): Record<string, string>;
}

/** Those of the catalogue: a kind without an entry does not compile. */
export const providerKinds: Record<Provider['kind'], ProviderKind> = {
  openai: {
    headers: (apiKey): Record<string, string> =>
      apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  },
  anthropic: {
    // Clients name another version where they know one.
    headers: (apiKey) => ({
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      'anthropic-version': '2023-06-01',
    }),
  },
  google: {
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { 'x-goog-api-key': apiKey }),
  },
};

type Called = Pick<ProviderCall, 'api' | 'operation' | 'model' | 'stream' | 'isBatch'>;

/** Behind the base address, which is what a provider's own SDK takes. */
export function pathOf(call: Called): string {
  const { api, operation, model } = call;
  switch (api) {
    case 'messages':
      return operation === 'count' ? '/v1/messages/count_tokens' : '/v1/messages';
    case 'responses':
      return operation === 'count' ? '/responses/input_tokens' : '/responses';
    case 'gemini':
      // This version has every field that v1 has.
      return `/v1beta/models/${inPath(model)}:${geminiMethod(call)}`;
    case 'chat':
      return operation === 'embeddings' ? '/embeddings' : '/chat/completions';
  }
}

function geminiMethod({ operation, stream, isBatch }: Called): string {
  if (operation === 'count') return 'countTokens';
  if (operation === 'embeddings') return isBatch === true ? 'batchEmbedContents' : 'embedContent';
  // Its streams are arrays otherwise.
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** Slashes are part of a model's name, and of a path. */
function inPath(model: string): string {
  return encodeURIComponent(model).replaceAll('%2F', '/').replaceAll('%3A', ':');
}
