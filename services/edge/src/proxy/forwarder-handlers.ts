import { defaultDialect, dialectHeader } from '@gatehouse/contract/dialects';
import type { Route, ServiceName } from '@gatehouse/contract/routes';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { requestIdHeader } from '@gatehouse/http/request-context';
import type { Logger } from '@gatehouse/kit/log';
import { toTraceparent } from '@gatehouse/kit/trace-context';
import type { Neighbour, Neighbours } from '@gatehouse/shell/neighbours';
import type { AddressList } from '../replicas/address-list.ts';
import { bodyLimitOf } from '../shared/target.ts';
import { ProxiedResponse, type ForwardedRequest } from './answer-handlers.ts';
import type { Attempt, HttpClient } from './http-client.ts';
import type { HeaderList } from './headers.ts';
import { LocalClient } from './local-client.ts';
import type { RequestBodies } from './request-body-handlers.ts';
import { unreachable, upstreamError } from './upstream-error.ts';
import { gatheredBytes } from '../bounds.ts';

export interface ForwarderOptions {
  /** The services of this process: requests are handed over to them. */
  neighbours?: Neighbours | undefined;
  /** The replicas of each other service. */
  addresses: ReadonlyMap<ServiceName, AddressList>;
  bodies: RequestBodies;
  general: HttpClient;
  /** Senders for routes with streaming bodies, by service. */
  passThrough: ReadonlyMap<ServiceName, HttpClient>;
  log: Logger;
}

/** Whether bodies of the route are passed on as they arrive, instead of being gathered first. */
export function streamsBody({ passThrough, bodyLines, bodyForm, bodyLimit }: Route): boolean {
  return passThrough || bodyLines !== undefined || bodyForm !== undefined || bodyLimit > gatheredBytes;
}

/** Sends requests to the services of their routes, and their answers back. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #local = new LocalClient();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * Sends the request to its service if it runs in this process. Otherwise sends it to a replica, once more to another
   * one if the first refuses the connection, and resolves when the response is closed. Throws when no replica can be
   * reached, and for too large or too slow a body.
   */
  forward(forwarded: ForwardedRequest): Promise<void> | undefined {
    const neighbour = this.#options.neighbours?.find(forwarded.route.service);
    if (neighbour === undefined) return this.#sendOutside(forwarded);
    this.#sendInside(forwarded, neighbour);
    return undefined;
  }

  async #sendOutside(forwarded: ForwardedRequest): Promise<void> {
    const { service } = forwarded.route;
    const addresses = this.#options.addresses.get(service);
    const sender = this.#senderFor(forwarded.route);
    const limit = bodyLimitOf(forwarded.route);
    const { bodies } = this.#options;
    const body = await (sender.streamsBodies
      ? bodies.gatherOrStream(forwarded, limit)
      : bodies.gather(forwarded, limit));
    const address = addresses?.next() ?? null;
    if (addresses === undefined || address === null) throw unreachable(service);
    const refusal = await this.#attempt(sender, addresses, { forwarded, address, body });
    if (refusal === null) return;
    addresses.refused(address);
    const other = addresses.next(address);
    // A stream was not touched either: reading begins once there is a connection.
    const last =
      other === null ? refusal : await this.#attempt(sender, addresses, { forwarded, address: other, body });
    if (last === null) return;
    this.#options.log.error(
      { err: last, request_id: forwarded.requestId, service },
      'no connection to a service',
    );
    throw upstreamError(service, last);
  }

  /** Ends what is in flight: a stream with the error event, any other request with a 502. */
  async close(): Promise<void> {
    const { general, passThrough } = this.#options;
    await Promise.all([this.#local, general, ...passThrough.values()].map((sender) => sender.close()));
  }

  /** Sends the request to a service of this process, unless its client has left. Throws if the service does not run. */
  #sendInside(forwarded: ForwardedRequest, { handler }: Neighbour): void {
    const { response, route } = forwarded;
    if (response.destroyed || response.closed) return;
    if (handler === null) throw unreachable(route.service);
    const { log } = this.#options;
    // A neighbour neither refuses a connection nor stops before the edge does.
    const answer = new ProxiedResponse({ forwarded, log, settle: () => undefined, onStop: () => undefined });
    this.#local.send({ forwarded, handler }, answer);
  }

  #senderFor(route: Route): HttpClient {
    const { general, passThrough } = this.#options;
    return (streamsBody(route) ? passThrough.get(route.service) : undefined) ?? general;
  }

  /** The error when the address refused the connection; null in all other cases, which the answer has dealt with. */
  async #attempt(
    sender: HttpClient,
    addresses: AddressList,
    attempt: Omit<Attempt, 'headers'>,
  ): Promise<unknown> {
    const { forwarded, address } = attempt;
    const { log } = this.#options;
    // A body may have taken longer to arrive than a token lasts.
    const headers = [...outerHeaders(forwarded), assertionHeader, await forwarded.assertion.token()];
    if (forwarded.response.destroyed) return null;
    return new Promise((resolve) => {
      const onStop = (): void => addresses.stops(address);
      sender.send({ ...attempt, headers }, new ProxiedResponse({ forwarded, log, settle: resolve, onStop }));
    });
  }
}

/** The headers for a service of another process: what the edge knows of the request, but for the assertion. */
function outerHeaders({ headers, dialect, requestId, trace }: ForwardedRequest): HeaderList {
  const named = dialect === defaultDialect ? [] : [dialectHeader, dialect];
  return [...headers, ...named, requestIdHeader, requestId, 'traceparent', toTraceparent(trace)];
}
