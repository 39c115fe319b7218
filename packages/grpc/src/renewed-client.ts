import { monotonicMs } from '@gatehouse/kit/clock';
import { credentials, status, type Client, type ClientOptions, type ServiceError } from '@grpc/grpc-js';
import type { StubClass } from './channel.ts';
import { isAnswer } from './errors.ts';

/** A renewal looks up the name of the peer and connects again, so it must be rare. */
const renewalEveryMs = 10_000;
/** Addresses whose last answers are remembered. */
const maxAddresses = 1_000;

/**
 * A client of a peer that gets new connections after a call to an address that has answered no call since it began: the
 * host of a replica may be gone without closing its connections. One slow call among others renews nothing. The old
 * connections stay until their calls have ended.
 *
 * gRPC's keepalive pings would find such a host too, but Node sends no ping on a connection that its server is
 * closing for its age, and grpc-js then cuts all calls on it (grpc-node #3068).
 */
export class RenewedClient {
  readonly #Stub: StubClass<Client>;
  readonly #target: string;
  readonly #options: ClientOptions;
  readonly #everyMs: number;
  #current: Client;
  #openedAt = monotonicMs();
  /** Calls under way, by their client. */
  readonly #calls = new Map<Client, number>();
  /** When an address of a replica has last answered. */
  readonly #answeredAt = new Map<string, number>();

  constructor(
    Stub: StubClass<Client>,
    {
      target,
      options,
      everyMs = renewalEveryMs,
    }: { target: string; options: ClientOptions; everyMs?: number },
  ) {
    this.#Stub = Stub;
    this.#target = target;
    // Without a pool of its own, a new client would use the connections of the one before.
    this.#options = { ...options, 'grpc.use_local_subchannel_pool': 1 };
    this.#everyMs = everyMs;
    this.#current = this.#open();
  }

  get current(): Client {
    return this.#current;
  }

  /** The client for one call, and a function to run with the call's error, or null, and its address when it has ended. */
  begin(): { client: Client; end: (error: ServiceError | null, address: string) => void } {
    const client = this.#current;
    const beganAt = monotonicMs();
    this.#calls.set(client, (this.#calls.get(client) ?? 0) + 1);
    const end = (error: ServiceError | null, address: string): void => {
      const left = (this.#calls.get(client) ?? 1) - 1;
      if (left > 0) this.#calls.set(client, left);
      else this.#calls.delete(client);
      if (error === null || isAnswer(error)) this.#noteAnswer(address);
      else if (error.code === status.DEADLINE_EXCEEDED && client === this.#current)
        this.#renewUnlessAnswered(address, beganAt);
      if (left === 0 && client !== this.#current) client.close();
    };
    return { client, end };
  }

  /** Calls under way on old connections end with these. */
  close(): void {
    for (const client of new Set([...this.#calls.keys(), this.#current])) client.close();
  }

  #open(): Client {
    return new this.#Stub(this.#target, credentials.createInsecure(), this.#options);
  }

  #noteAnswer(address: string): void {
    if (this.#answeredAt.size >= maxAddresses) this.#answeredAt.clear();
    this.#answeredAt.set(address, monotonicMs());
  }

  #renewUnlessAnswered(address: string, since: number): void {
    if ((this.#answeredAt.get(address) ?? -Infinity) >= since) return;
    if (monotonicMs() - this.#openedAt < this.#everyMs) return;
    const old = this.#current;
    this.#current = this.#open();
    this.#openedAt = monotonicMs();
    // Its last call has ended already.
    if (!this.#calls.has(old)) old.close();
  }
}
