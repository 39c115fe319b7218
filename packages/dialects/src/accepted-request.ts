import type { CompletionRequest } from './dialect.ts';

/** A request without what is needed only until its models are known, and without its text. */
export type AcceptedRequest = Omit<
  CompletionRequest,
  'state' | 'firstTexts' | 'promptParts' | 'otherModels' | 'refusalIn' | 'source'
>;
