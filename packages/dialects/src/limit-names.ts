/** OpenAI's two names of one limit. */
export const limitNames = ['max_completion_tokens', 'max_tokens'] as const;
export type LimitName = (typeof limitNames)[number];

/** The name that a provider understands for all of its models: OpenAI's newer ones refuse the old one. */
export function limitNameAt(baseUrl: string): LimitName {
  const { hostname } = new URL(baseUrl);
  return /(?:^|\.)(?:openai|azure)\.com$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}
