import type { Rewrite } from '@gatehouse/dialects/dialect';
import type { Share } from '@gatehouse/dialects/wire/request-text';

/** Requests of batches as their providers get them: with the name of the model there. */

/** The memory of requests is bounded by the uploads and the checks at a time. */
export const noShare: Share = { release: () => undefined };

export const unchanged: Omit<Rewrite, 'model'> = {
  ...{ includeUsage: false, systemPrompt: null, reference: null, defaults: {}, maxTokens: null, tools: null },
};
