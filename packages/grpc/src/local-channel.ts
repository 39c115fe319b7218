import { Metadata, status, type ServiceDefinition } from '@grpc/grpc-js';
import type { Channel, OutgoingCall } from './channel.ts';
import type { FailedStatus } from './errors.ts';
import type { LocalServer } from './local-server.ts';

export interface LocalChannelOptions {
  peer: string;
  server: LocalServer;
  definition: ServiceDefinition;
  /** The name of the calling service. */
  caller: string;
  /** As in `RpcOptions`. */
  passesObjects?: boolean | undefined;
}

/** The way to a peer in the same process. */
export class LocalChannel implements Channel {
  readonly #options: LocalChannelOptions;
  #reached = false;
  #isClosed = false;

  constructor(options: LocalChannelOptions) {
    this.#options = options;
  }

  async send(method: string, { request, ...call }: OutgoingCall): Promise<unknown> {
    const { peer, server, definition, caller, passesObjects = false } = this.#options;
    const codec = definition[method];
    if (codec === undefined) throw new Error(`${peer} has no RPC ${method}`);
    if (this.#isClosed) throw new LocalFailure(status.UNAVAILABLE, 'the channel is closed');
    const sent = passesObjects ? (request as object) : inCodec(() => codec.requestSerialize(request));
    const outcome = await server.call(codec.path, { ...call, caller, request: sent });
    if ('failed' in outcome) {
      const { code, details, metadata } = outcome.failed;
      throw new LocalFailure(code, details, metadata);
    }
    const { response } = outcome;
    return inCodec(() => codec.responseDeserialize(response) as unknown);
  }

  get reachable(): boolean {
    const { isServing } = this.#options.server;
    this.#reached ||= isServing;
    return isServing;
  }

  get reached(): boolean {
    return this.reachable || this.#reached;
  }

  close(): void {
    this.#isClosed = true;
  }
}

/** A message not fitting its definition fails the call, as over a connection. */
function inCodec<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new LocalFailure(status.INTERNAL, (error as Error).message);
  }
}

/** Status of a failed call as grpc-js reports it. */
class LocalFailure extends Error implements FailedStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;

  constructor(code: status, details: string, metadata = new Metadata()) {
    super(details);
    this.code = code;
    this.details = details;
    this.metadata = metadata;
  }
}
