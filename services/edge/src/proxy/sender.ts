import type { Answer } from './answer.ts';
import type { HeaderList } from './headers.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import type { RequestBody } from './request-body.ts';

/** One attempt to send a request to a replica. */
export interface Attempt {
  forwarded: ForwardedRequest;
  /** Host and port of the replica. */
  address: string;
  headers: HeaderList;
  body: RequestBody;
}

/** One of the two HTTP clients that requests leave the edge by. It only moves bytes: `Answer` makes the decisions. */
export interface Sender {
  /** Whether it takes bodies as streams; otherwise they are gathered first. */
  readonly streamsBodies: boolean;
  /** Sends the request and reports what comes back, an error included, to `answer`. Doesn't throw. */
  send(attempt: Attempt, answer: Answer): void;
  /** Closes every connection. Requests in flight fail. */
  close(): Promise<void>;
}
