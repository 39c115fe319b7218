import type { Answer } from './answer-format.ts';
import type { Exchange } from './exchange.ts';
import type { Fault } from './faults.ts';

/** One authenticated request, and what the provider has for its answer. */
export interface RouteContext {
  exchange: Exchange;
  fault: Fault;
  /** A new id that begins with the prefix. */
  newId: (prefix: string) => string;
}

/** @throws RefusedRequest for requests that the API rejects. */
export type Route = (context: RouteContext) => Answer;
