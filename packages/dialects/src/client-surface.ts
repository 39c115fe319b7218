import type { IncomingHttpHeaders } from 'node:http';
import type { ModelQuery } from '@gatehouse/contract/chat';
import type { StreamPlace } from '@gatehouse/contract/dialects';
import type { AppError } from '@gatehouse/kit/errors';
import type { UsableModel, UsableModels } from './model-list.ts';

/**
 * A dialect as servers of HTTP use it without reading a body: how its requests are recognised, and the shapes of its errors
 * and lists of models.
 */
export interface ClientSurface {
  /** Whether its clients send a request; a later dialect of the registry wins. Absent for the default dialect. */
  recognises?(request: SeenRequest): boolean;
  /** The same for a path without a route. */
  recognisesUnknown?(request: SeenRequest): boolean;
  /** Whether a wrong method is reported as an unknown path. */
  hidesMethods?(request: SeenRequest): boolean;
  /** Headers of each response, beside those of all dialects. */
  headers?(requestId: string): Record<string, string>;
  /** An error as a response. */
  error(error: AppError, requestId: string): WrittenError;
  /** The last events of a stream with an error at its end. `place`: where it is known. */
  errorEvent(error: AppError, requestId: string, place: StreamPlace | null): string;
  model(model: UsableModel): object;
  /** A list of models, or the page named by the query. Throws 400s for a page that doesn't exist. */
  models(list: UsableModels, query: ModelQuery): object;
}

/** A request as far as it shows the dialect of its client. */
export interface SeenRequest {
  method: string;
  /** Path and query. */
  url: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** An error as a client of a dialect reads it. */
export interface WrittenError {
  status: number;
  /** A buffer is JSON text. */
  body: unknown;
  /** Beside those of the error. */
  headers: Record<string, string>;
}

/** The message with the name of the parameter, for clients with nothing else to show to their users. */
export function messageWithParam({ message, param }: AppError): string {
  const words = message.split(/[^\w.[\]-]+/).map((word) => word.replace(/\.$/, ''));
  return param === null || words.includes(param) ? message : `${message} (${param})`;
}

/** Seconds of `retry-after`; null without them. */
export function retryAfterOf({ headers }: AppError): number | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : null;
}
