import type { Signer } from '@gatehouse/identity/signer';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Histogram } from '@gatehouse/kit/metrics';
import { childSpan, toTraceparent, type TraceContext } from '@gatehouse/kit/trace-context';
import type { Tracer } from '@gatehouse/kit/tracing';
import {
  connectivityState,
  credentials,
  Metadata,
  status,
  type CallOptions,
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  type ClientUnaryCall,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { fromServiceError } from './errors.ts';
import { callerTokenKey, requestIdKey, traceparentKey } from './metadata.ts';
import { callSpan } from './call-span.ts';

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
export type PeerStub = Client;

export interface PeerOptions<Stub extends Client> {
  /** The name of the peer: the audience of the service token, and the name in errors. */
  peer: string;
  /** A list of `host:port`, or one `dns:///name:port`. */
  addresses: readonly string[];
  stub: (new (address: string, credentials: ChannelCredentials, options?: Partial<ClientOptions>) => Stub) & {
    readonly service: ServiceDefinition;
  };
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
  assertion?: string | undefined;
  /** Cancels the call, which then throws the reason. */
  signal?: AbortSignal | undefined;
}

/** Time reserved at each hop for returning the response. */
const hopMs = 20;

/** Repeats of calls that the peer did not process. grpc-js repeats such a call once by itself, without delay. */
const maxRepeats = 5;
const repeatAfterMs = 10;

const channelOptions: ClientOptions = {
  // By default grpc-js waits about 1 s after a refused connection, so a restarted peer would stay unreachable for that
  // long.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // grpc-js looks the name up after it loses a connection, which finds new replicas; by default at most every 30 s.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // The service config is below; without this, each lookup also queries a TXT record.
  'grpc.service_config_disable_resolution': 1,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
};

/**
 * A client of a peer service. Calls carry a service token, a deadline, the request id and the trace context, and throw
 * `AppError`.
 */
export class Peer<Stub extends Client> {
  readonly #stub: Stub;
  readonly #peer: string;
  readonly #signer: Signer;
  readonly #tracer: Tracer | undefined;
  readonly #duration: PeerOptions<Stub>['duration'];
  readonly #methods: ServiceDefinition;
  #reachable = false;
  #reached = false;

  constructor(options: PeerOptions<Stub>) {
    this.#peer = options.peer;
    this.#signer = options.signer;
    this.#tracer = options.tracer;
    this.#duration = options.duration;
    this.#methods = options.stub.service;
    this.#stub = new options.stub(target(options.addresses), credentials.createInsecure(), channelOptions);
  }

  /** Makes one unary call: `peer.call('resolveAgent', request, { deadlineMs: 2_000 })`. */
  async call<Name extends keyof Stub>(
    name: Name,
    request: RequestOf<Stub[Name]>,
    context: CallContext,
  ): Promise<ResponseOf<Stub[Name]>> {
    const startedAt = monotonicMs();
    const metadata = new Metadata();
    metadata.set(callerTokenKey, await this.#signer.serviceToken(this.#peer));
    if (context.assertion !== undefined) metadata.set(assertionHeader, context.assertion);
    if (context.requestId !== undefined) metadata.set(requestIdKey, context.requestId);
    // Background work has no trace, so it gets no span.
    const span =
      this.#tracer === undefined || context.trace === undefined ? context.trace : childSpan(context.trace);
    if (span !== undefined) metadata.set(traceparentKey, toTraceparent(span));
    const deadline = Date.now() + context.deadlineMs - hopMs;
    // The conditional types above admit only unary methods, which TypeScript cannot infer here.
    const method = this.#stub[name] as UnaryMethod<RequestOf<Stub[Name]>, ResponseOf<Stub[Name]>>;
    const { signal } = context;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      let sent: ClientUnaryCall | undefined;
      const cancel = (): void => sent?.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      const send = (repeatsLeft: number): void => {
        sent = method.call(this.#stub, request, metadata, { deadline }, (error, response) => {
          if (error !== null && repeatsLeft > 0 && wasNotProcessed(error) && signal?.aborted !== true) {
            setTimeout(() => send(repeatsLeft - 1), repeatAfterMs);
            return;
          }
          conclude(error, response);
        });
      };
      const conclude = (error: ServiceError | null, response: ResponseOf<Stub[Name]>): void => {
        this.#duration?.observe(
          { peer: this.#peer, method: String(name), code: status[error?.code ?? status.OK] },
          (monotonicMs() - startedAt) / 1_000,
        );
        if (span !== undefined) {
          this.#tracer?.record(
            callSpan({
              context: span,
              kind: 'client',
              path: this.#pathOf(name),
              code: error?.code,
              startedAt,
            }),
          );
        }
        signal?.removeEventListener('abort', cancel);
        if (error === null) resolve(response);
        else if (signal?.aborted === true) reject(signal.reason as Error);
        else reject(fromServiceError(error, this.#peer));
      };
      send(maxRepeats);
    });
  }

  #pathOf(name: keyof Stub): string {
    return this.#methods[name as string]?.path ?? '';
  }

  /** Whether the peer was reachable when last tried. Reading this makes an idle channel connect. */
  get reachable(): boolean {
    const state = this.#stub.getChannel().getConnectivityState(true);
    if (state === connectivityState.READY) this.#reached = true;
    // While the channel reconnects, for example because of the maximum connection age, the previous value applies.
    const settled = state !== connectivityState.IDLE && state !== connectivityState.CONNECTING;
    if (settled) this.#reachable = state === connectivityState.READY;
    return this.#reachable;
  }

  /** Whether the peer has ever been reachable when this or `reachable` was read. For readiness checks. */
  get reached(): boolean {
    return this.#reached || this.reachable;
  }

  close(): void {
    this.#stub.close();
  }
}

/**
 * Whether the peer rejected the call without processing it (RFC 9113 §8.7), because it was closing the connection for
 * its age. Such a call is always safe to repeat.
 */
function wasNotProcessed(error: ServiceError): boolean {
  // grpc-js reports this code only as text.
  return error.code === status.UNAVAILABLE && error.details === 'Stream refused by server';
}

/**
 * Builds a grpc-js target for round-robin: one DNS name, or any number of IPv4 addresses. Throws for other lists, which
 * grpc-js does not support.
 */
export function target(addresses: readonly string[]): string {
  const [first, ...others] = addresses;
  if (first === undefined) throw new Error('a peer needs at least one address');
  if (addresses.every((address) => /^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)))
    return `ipv4:${addresses.join(',')}`;
  if (others.length > 0) throw new Error(`several addresses of a peer must be IPv4: ${addresses.join(',')}`);
  return first.startsWith('dns:///') ? first : `dns:///${first}`;
}
