import type { Assertion } from '@gatehouse/identity/local-assertion';
import type { Signer } from '@gatehouse/identity/signer';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Histogram } from '@gatehouse/kit/metrics';
import { childSpan, toTraceparent, type TraceContext } from '@gatehouse/kit/trace-context';
import type { Tracer } from '@gatehouse/kit/tracing';
import {
  status,
  type CallOptions,
  type Client,
  type ClientUnaryCall,
  type Metadata,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { callSpan } from './call-span.ts';
import type { Channel, StubClass } from './channel.ts';
import { fromServiceError, isStatus } from './errors.ts';
import { GrpcChannel } from './grpc-channel.ts';
import { LocalChannel } from './local-channel.ts';
import type { LocalServer } from './local-server.ts';

/** The last overload of a ts-proto client method, with all parameters. */
type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

type RequestOf<Method> = Method extends UnaryMethod<infer Request, infer _Response> ? Request : never;
type ResponseOf<Method> = Method extends UnaryMethod<infer _Request, infer Response> ? Response : never;

/** A client that ts-proto generated. */
export type RpcStub = Client;

export interface RpcOptions<Stub extends Client> {
  /** The name of the peer: the audience of the service token, and the name in errors. */
  peer: string;
  /** A list of `host:port`, or one `dns:///name:port`; or the peer's RPCs in this process. */
  addresses: readonly string[] | LocalServer;
  stub: StubClass<Stub>;
  signer: Signer;
  tracer?: Tracer | undefined;
  /** The histogram of `rpcDuration` in `@gatehouse/kit/metrics`. */
  duration?: Histogram<'peer' | 'method' | 'code'> | undefined;
}

export interface CallContext {
  deadlineMs: number;
  requestId?: string | undefined;
  trace?: TraceContext | undefined;
  /** The edge's assertion, passed on when the call is made for a caller; or a delegation to the peer. */
  assertion?: Assertion | undefined;
  /** Cancels the call, which then throws the reason. */
  signal?: AbortSignal | undefined;
}

/** Time reserved at each hop for returning the response. */
const hopMs = 20;

/**
 * A client of a peer service, wherever that runs. Calls carry the caller's identity, a deadline, the request id and the
 * trace context, and throw `AppError`.
 */
export class RpcClient<Stub extends Client> {
  readonly #channel: Channel;
  readonly #peer: string;
  readonly #tracer: Tracer | undefined;
  readonly #duration: RpcOptions<Stub>['duration'];
  readonly #methods: ServiceDefinition;

  constructor({ peer, addresses, stub, signer, tracer, duration }: RpcOptions<Stub>) {
    this.#peer = peer;
    this.#tracer = tracer;
    this.#duration = duration;
    this.#methods = stub.service;
    this.#channel = isList(addresses)
      ? new GrpcChannel({ peer, addresses, stub, signer })
      : new LocalChannel({ peer, server: addresses, definition: stub.service, caller: signer.service });
  }

  /** Makes one unary call: `peer.call('resolveAgent', request, { deadlineMs: 2_000 })`. */
  async call<Name extends keyof Stub>(
    name: Name,
    request: RequestOf<Stub[Name]>,
    context: CallContext,
  ): Promise<ResponseOf<Stub[Name]>> {
    const { requestId, assertion, signal } = context;
    const startedAt = monotonicMs();
    // Background work has no trace, so it gets no span.
    const span =
      this.#tracer === undefined || context.trace === undefined ? context.trace : childSpan(context.trace);
    const method = String(name);
    const record = (code: status | undefined): void => this.#record(method, { span, code, startedAt });
    const deadline = Date.now() + context.deadlineMs - hopMs;
    const traceparent = span === undefined ? undefined : toTraceparent(span);
    signal?.throwIfAborted();
    try {
      const sent = { request, deadline, requestId, traceparent, assertion, signal };
      const response = await this.#channel.send(method, sent);
      record(undefined);
      // The conditional types above admit only unary methods of the stub.
      return response as ResponseOf<Stub[Name]>;
    } catch (error) {
      if (!isStatus(error)) throw error;
      record(error.code);
      if (signal?.aborted === true) throw signal.reason as Error;
      throw fromServiceError(error, this.#peer);
    }
  }

  #record(
    method: string,
    {
      span,
      code,
      startedAt,
    }: { span: TraceContext | undefined; code: status | undefined; startedAt: number },
  ): void {
    this.#duration?.observe(
      { peer: this.#peer, method, code: status[code ?? status.OK] },
      (monotonicMs() - startedAt) / 1_000,
    );
    if (span === undefined) return;
    const path = this.#methods[method]?.path ?? '';
    this.#tracer?.record(callSpan({ context: span, kind: 'client', path, code, startedAt }));
  }

  /** Whether the peer was reachable when last tried. Reading this makes an idle channel connect. */
  get reachable(): boolean {
    return this.#channel.reachable;
  }

  /** Whether the peer has ever been reachable when this or `reachable` was read. For readiness checks. */
  get reached(): boolean {
    return this.#channel.reached;
  }

  close(): void {
    this.#channel.close();
  }
}

function isList(addresses: readonly string[] | LocalServer): addresses is readonly string[] {
  return Array.isArray(addresses);
}
