import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocalAssertion } from '@gatehouse/identity/local-assertion';
import type { DialectName } from '@gatehouse/contract/dialects';
import type { Route } from '@gatehouse/contract/routes';
import type { HeaderList } from './headers.ts';

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
