import type { ProxiedResponse } from './answer-handlers.ts';
import type { HeaderList } from './headers.ts';
import type { RequestBody } from './request-body-handlers.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocalAssertion } from '@gatehouse/identity/local-assertion';
import type { DialectName } from '@gatehouse/contract/dialects';
import type { Route } from '@gatehouse/contract/routes';

/** A request that passed the edge's checks, on its way to the service of its route. */
export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  route: Route;
  /** Path and query for the service; of a relayed request, those behind the relay. */
  url: string;
  /** The headers for the service, but for the assertion. */
  headers: HeaderList;
  /** The principal of the caller, as the edge found it. */
  assertion: LocalAssertion;
  /** Null for owner keys. */
  tenantId: string | null;
  /** On routes without a key: the client's address, or `''` if it is not known. */
  anonymousAddress?: string | undefined;
  requestId: string;
  /** The dialect in which the client gets errors. */
  dialect: DialectName;
}

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

/** One of the two HTTP clients that send requests to other processes. */
export interface HttpClient extends ServiceSender<Attempt> {
  /** Whether it takes bodies as streams; otherwise they are gathered first. */
  readonly streamsBodies: boolean;
}
