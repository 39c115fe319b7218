import { monotonicMs } from '@gatehouse/kit/clock';
import { OpenList } from '@gatehouse/kit/open-list';
import {
  credentials as channelCredentials,
  status,
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  type ClientUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import type { StubClass } from './channel.ts';
import { connectionDropped, isAnswer } from './errors.ts';
import { isHostGone } from './gone-host.ts';

/** A renewal looks up the name of the peer and connects again, so it must be rare; so must a look for a host. */
const renewalEveryMs = 10_000;
/** Addresses with remembered times. */
const maxAddresses = 1_000;

interface PendingCall {
  /** Its address is known once the server has sent anything, as it does for each lasting call. */
  sent: ClientUnaryCall;
  beganAt: number;
  /** Whether it was cancelled because its host is gone. */
  isCut: boolean;
}

export interface RenewedClientOptions {
  target: string;
  options: ClientOptions;
  /** Default: without TLS. */
  credentials?: ChannelCredentials;
  everyMs?: number;
  isGone?: (address: string) => Promise<boolean>;
}

/**
 * Client of a peer with new connections after a call to an address from which nothing has been answered since the call
 * began: the host of a replica may be gone without closing its connections. One slow call among others renews nothing.
 * The old connections stay until their calls have ended. If the host doesn't answer an attempt to connect either, its
 * calls end as when a connection is lost.
 *
 * gRPC's keepalive pings would find a vanished host too, but Node sends no ping on a connection its server is closing
 * for its age, and grpc-js then cuts all calls on it (grpc-node #3068).
 */
export class RenewedClient {
  readonly #Stub: StubClass<Client>;
  readonly #target: string;
  readonly #options: ClientOptions;
  readonly #credentials: ChannelCredentials;
  readonly #everyMs: number;
  #current: Client;
  #openedAt = monotonicMs();
  /** Calls under way, by their client. */
  readonly #calls = new Map<Client, number>();
  /** When an address of a replica has last answered. */
  readonly #answeredAt = new Map<string, number>();
  readonly #open = new OpenList<PendingCall>();
  /** When the host of an address was last looked for. */
  readonly #lookedAt = new Map<string, number>();
  readonly #isGone: (address: string) => Promise<boolean>;

  constructor(
    Stub: StubClass<Client>,
    { target, options, credentials, everyMs = renewalEveryMs, isGone = isHostGone }: RenewedClientOptions,
  ) {
    this.#credentials = credentials ?? channelCredentials.createInsecure();
    this.#isGone = isGone;
    this.#Stub = Stub;
    this.#target = target;
    // Without a pool of its own, a new client would use the connections of the one before.
    this.#options = { ...options, 'grpc.use_local_subchannel_pool': 1 };
    this.#everyMs = everyMs;
    this.#current = this.#connect();
  }

  get current(): Client {
    return this.#current;
  }

  /**
   * Makes one call with `start`. Its callback returns the error the call has ended with; null if it has a response.
   */
  call(
    start: (client: Client, onEnd: (error: ServiceError | null) => ServiceError | null) => ClientUnaryCall,
  ) {
    const client = this.#current;
    const beganAt = monotonicMs();
    this.#calls.set(client, (this.#calls.get(client) ?? 0) + 1);
    const sent = start(client, (error) => {
      remove();
      this.#end(error, { client, address: sent.getPeer(), beganAt });
      return call.isCut && error !== null ? connectionDropped(error) : error;
    });
    const call: PendingCall = { sent, beganAt, isCut: false };
    const remove = this.#open.add(call);
    return sent;
  }

  #end(
    error: ServiceError | null,
    { client, address, beganAt }: { client: Client; address: string; beganAt: number },
  ): void {
    const left = (this.#calls.get(client) ?? 1) - 1;
    if (left > 0) this.#calls.set(client, left);
    else this.#calls.delete(client);
    if (error === null || isAnswer(error)) noteTime(this.#answeredAt, address);
    else if (error.code === status.DEADLINE_EXCEEDED && !this.#hasAnswered(address, beganAt)) {
      if (client === this.#current) this.#renew();
      void this.#cutIfGone(address, beganAt);
    }
    if (left === 0 && client !== this.#current) client.close();
  }

  /** Calls under way on old connections end with these. */
  close(): void {
    for (const client of new Set([...this.#calls.keys(), this.#current])) client.close();
  }

  #connect(): Client {
    return new this.#Stub(this.#target, this.#credentials, this.#options);
  }

  #hasAnswered(address: string, since: number): boolean {
    return (this.#answeredAt.get(address) ?? -Infinity) >= since;
  }

  #renew(): void {
    if (monotonicMs() - this.#openedAt < this.#everyMs) return;
    const old = this.#current;
    this.#current = this.#connect();
    this.#openedAt = monotonicMs();
    // Its last call has ended already.
    if (!this.#calls.has(old)) old.close();
  }

  /** Ends the calls under way at a silent address, with no answer since a time, if its host is gone. */
  async #cutIfGone(address: string, since: number): Promise<void> {
    const now = monotonicMs();
    if (now - (this.#lookedAt.get(address) ?? -Infinity) < this.#everyMs) return;
    noteTime(this.#lookedAt, address);
    const calls = (): PendingCall[] =>
      [...this.#open].filter(({ sent, beganAt }) => beganAt < now && sent.getPeer() === address);
    if (calls().length === 0 || !(await this.#isGone(address)) || this.#hasAnswered(address, since)) return;
    for (const call of calls()) {
      call.isCut = true;
      call.sent.cancel();
    }
  }
}

function noteTime(times: Map<string, number>, address: string): void {
  if (times.size >= maxAddresses) times.clear();
  times.set(address, monotonicMs());
}
