import { dialects } from '@gatehouse/dialects/dialects';
import type { Credentials } from '../credentials.ts';
import type { ApiCall, CallFormat, ProviderKind } from '../provider-kind.ts';

/** Providers with the API of their own SDK, at the address that it takes. */
export function byApi(credentials: Credentials): ProviderKind {
  return {
    credentials,
    requestOf: (call, body) => ({ path: pathOf(call), headers: call.headers, body }),
    answersOf: (call) => ({ format: formatOf(call) }),
  };
}

/** The format of an API that clients speak, too. */
export function formatOf({ api }: ApiCall): CallFormat {
  if (api === 'converse') throw new Error('no client speaks Converse');
  return dialects[api];
}

/** Behind the base address, which is what a provider's own SDK takes. */
export function pathOf(call: ApiCall): string {
  const { api, operation, model } = call;
  switch (api) {
    case 'messages':
      return operation === 'count' ? '/v1/messages/count_tokens' : '/v1/messages';
    case 'responses':
      return `/responses${responsesMethods[operation]}`;
    case 'gemini':
      // This version has every field that v1 has.
      return `/v1beta/models/${inPath(model)}:${geminiMethod(call)}`;
    case 'chat':
      return operation === 'embeddings' ? '/embeddings' : '/chat/completions';
    case 'converse':
      throw new Error('only Bedrock has Converse');
  }
}

const responsesMethods = { chat: '', embeddings: '', count: '/input_tokens', compact: '/compact' };

/** The method of Google's API behind the name of a model. */
export function geminiMethod({ operation, stream, isBatch }: ApiCall): string {
  if (operation === 'count') return 'countTokens';
  if (operation === 'embeddings') return isBatch === true ? 'batchEmbedContents' : 'embedContent';
  // Its streams are arrays otherwise.
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** Slashes are part of a model's name, and of a path. */
function inPath(model: string): string {
  return encodeURIComponent(model).replaceAll('%2F', '/').replaceAll('%3A', ':');
}
