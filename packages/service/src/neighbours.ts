import type { RequestListener } from 'node:http';
import type { ServiceName } from '@gatehouse/contract/services';
import { LocalServer } from '@gatehouse/grpc/local-server';

/** A service of this process, as its neighbours reach it. */
export class Neighbour {
  readonly rpcs = new LocalServer();
  /** Set while the service runs. */
  handler: RequestListener | null = null;
}

/**
 * The services that share a process. They call each other's RPCs and, at the edge, hand requests over, without a
 * connection. A service reaches one that is not here by its address.
 */
export class Neighbours {
  readonly #members: ReadonlyMap<ServiceName, Neighbour>;
  readonly #shared = new Map<string, { value: unknown; users: number }>();
  /** Whether other processes call these services too, so that they listen. */
  readonly listen: boolean;

  constructor(names: readonly ServiceName[], { listen }: { listen: boolean }) {
    this.#members = new Map(names.map((name) => [name, new Neighbour()]));
    this.listen = listen;
  }

  /** What services of the process share: made for the first of them, and kept until the last one releases it. */
  share<Shared>(key: string, make: () => Shared): Shared {
    const known = this.#shared.get(key) ?? { value: make(), users: 0 };
    known.users += 1;
    this.#shared.set(key, known);
    // The key says what it is.
    return known.value as Shared;
  }

  /** Returns whether no service uses it any more. */
  release(key: string): boolean {
    const known = this.#shared.get(key);
    if (known === undefined) return true;
    known.users -= 1;
    if (known.users === 0) this.#shared.delete(key);
    return known.users === 0;
  }

  /** Undefined if the service runs in another process. */
  find(name: ServiceName): Neighbour | undefined {
    return this.#members.get(name);
  }
}
