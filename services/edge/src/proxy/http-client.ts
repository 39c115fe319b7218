import type { ForwardedRequest, ProxiedResponse } from './answer-handlers.ts';
import type { HeaderList } from './headers.ts';
import type { RequestBody } from './request-body-handlers.ts';

/** One attempt to send a request to a replica. */
export interface Attempt {
  forwarded: ForwardedRequest;
  /** Host and port of the replica. */
  address: string;
  headers: HeaderList;
  body: RequestBody;
}

/** A way by which requests leave the edge. It only moves bytes: `ProxiedResponse` makes the decisions. */
export interface ServiceSender<Sent> {
  /** Sends the request and reports what comes back, an error included, to `answer`. Doesn't throw. */
  send(sent: Sent, answer: ProxiedResponse): void;
  /** Ends what is in flight: it fails. */
  close(): Promise<void>;
}

/** One of the two HTTP clients for requests to other processes. */
export interface HttpClient extends ServiceSender<Attempt> {
  /** Whether it takes bodies as streams; otherwise they are gathered first. */
  readonly streamsBodies: boolean;
}
