import type { RequestListener } from 'node:http';
import type { ServiceName } from '@gatehouse/contract/services';
import { LocalServer } from '@gatehouse/grpc/local-server';
import { ConnectionCount } from './connection-count.ts';

/** A service of this process, as its neighbours reach it. */
export class Neighbour {
  readonly rpcs = new LocalServer();
  /** Set while the service runs. */
  handler: RequestListener | null = null;
}

/**
 * The services of a process. They call each other's RPCs and, at the edge, hand requests over, without a connection. A
 * service reaches services outside the process by their address.
 */
export class Neighbours {
  readonly #members: ReadonlyMap<ServiceName, Neighbour>;
  /** Whether they listen, for calls from other processes too. */
  readonly listen: boolean;
  readonly connections: ConnectionCount;

  constructor(
    names: readonly ServiceName[],
    { listen, connections = new ConnectionCount() }: { listen: boolean; connections?: ConnectionCount },
  ) {
    this.connections = connections;
    this.#members = new Map(names.map((name) => [name, new Neighbour()]));
    this.listen = listen;
  }

  /** Undefined if the service runs in another process. */
  find(name: ServiceName): Neighbour | undefined {
    return this.#members.get(name);
  }
}
