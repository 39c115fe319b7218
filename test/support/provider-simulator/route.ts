import type { Answer } from './answer-format.ts';
import type { Batches } from './batches.ts';
import type { Exchange } from './exchange.ts';
import type { Fault } from './faults.ts';
import type { MessageBatches } from './messages/message-batches.ts';
import type { PromptCache } from './messages/prompt-cache.ts';
import type { ThinkingSigner } from './messages/thinking-signer.ts';

/** One authenticated request, and what the provider has for its answer. */
export interface RouteContext {
  exchange: Exchange;
  fault: Fault;
  /** A new id that begins with the prefix. */
  newId: (prefix: string) => string;
  signer: ThinkingSigner;
  cache: PromptCache;
  batches: Batches;
  messageBatches: MessageBatches;
}

/** @throws RefusedRequest for requests that the API rejects. */
export type Route = (context: RouteContext) => Answer;
