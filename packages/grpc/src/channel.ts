import type { Assertion } from '@gatehouse/identity/local-assertion';
import type { ChannelCredentials, Client, ClientOptions, ServiceDefinition } from '@grpc/grpc-js';

/** The fields that go with a call over any channel. */
export interface CallFields {
  /** When the caller stops waiting, in milliseconds since the epoch. */
  deadline: number;
  requestId: string | undefined;
  traceparent: string | undefined;
  assertion: Assertion | undefined;
}

/** A call on its way to a peer. */
export interface OutgoingCall extends CallFields {
  request: unknown;
  signal: AbortSignal | undefined;
}

/** The way to a peer: over connections, or inside this process. */
export interface Channel {
  /** Resolves with the response. Rejects with an error that has the members of a `FailedStatus`. */
  send(method: string, call: OutgoingCall): Promise<unknown>;
  /** Whether the peer was reachable when last tried. */
  readonly reachable: boolean;
  /** Whether the peer has ever been reachable when this or `reachable` was read. */
  readonly reached: boolean;
  close(): void;
}

/** The class of a client that ts-proto generated. */
export type StubClass<Stub extends Client> = (new (
  address: string,
  credentials: ChannelCredentials,
  options?: Partial<ClientOptions>,
) => Stub) & { readonly service: ServiceDefinition };
