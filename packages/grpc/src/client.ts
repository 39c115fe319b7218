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

/** The last overload of a ts-proto client method, the one that takes everything. */
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
  /** The peer's name: the audience of our service token, and what errors call it. */
  peer: string;
  /** `host:port` list, or one `dns:///name:port`. */
  addresses: readonly string[];
  stub: (new (address: string, credentials: ChannelCredentials, options?: Partial<ClientOptions>) => Stub) & {
    readonly service: ServiceDefinition;
  };
  signer: Signer;
  tracer?: Tracer | undefined;
  /** What `rpcDuration` of the kit makes. */
  duration?: Histogram<'peer' | 'method' | 'code'> | undefined;
}

export interface CallContext {
  deadlineMs: number;
  requestId?: string | undefined;
  trace?: TraceContext | undefined;
  /** The edge's assertion, passed on when we act for a caller. */
  assertion?: string | undefined;
}

/** Time kept back at each hop for the way back. */
const hopMs = 20;

/** Of calls that the peer did not process. grpc-js itself repeats such a call once, at once. */
const maxRepeats = 5;
const repeatAfterMs = 10;

const channelOptions: ClientOptions = {
  // After a refused connect grpc-js waits about a second by default: a restarted peer would be missed for that long.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A lookup follows the loss of a connection, so that replicas which came are found; half a minute apart by default.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // Ours is below; otherwise each lookup would ask for a TXT record too.
  'grpc.service_config_disable_resolution': 1,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
};

/** A peer service: calls carry our token, a deadline, the request id and the trace, and fail as `AppError`. */
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

  /** One unary call: `peer.call('resolveAgent', request, { deadlineMs: 2_000 })`. */
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
    // Work in the background belongs to no trace, and gets no span.
    const span =
      this.#tracer === undefined || context.trace === undefined ? context.trace : childSpan(context.trace);
    if (span !== undefined) metadata.set(traceparentKey, toTraceparent(span));
    const deadline = Date.now() + context.deadlineMs - hopMs;
    // The conditional types above admit unary methods only, which is more than TypeScript can follow here.
    const method = this.#stub[name] as UnaryMethod<RequestOf<Stub[Name]>, ResponseOf<Stub[Name]>>;
    return new Promise((resolve, reject) => {
      const send = (repeatsLeft: number): void => {
        method.call(this.#stub, request, metadata, { deadline }, (error, response) => {
          if (error !== null && repeatsLeft > 0 && wasNotProcessed(error)) {
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
        if (error === null) resolve(response);
        else reject(fromServiceError(error, this.#peer));
      };
      send(maxRepeats);
    });
  }

  #pathOf(name: keyof Stub): string {
    return this.#methods[name as string]?.path ?? '';
  }

  /** Whether the peer was reachable when last tried. Asking makes an idle channel connect. */
  get reachable(): boolean {
    const state = this.#stub.getChannel().getConnectivityState(true);
    if (state === connectivityState.READY) this.#reached = true;
    // While it connects, as it does now and then for a connection's age, what was true before counts.
    const settled = state !== connectivityState.IDLE && state !== connectivityState.CONNECTING;
    if (settled) this.#reachable = state === connectivityState.READY;
    return this.#reachable;
  }

  /** Whether the peer was reachable at any time when this was asked: what readiness waits for. */
  get reached(): boolean {
    return this.#reached || this.reachable;
  }

  close(): void {
    this.#stub.close();
  }
}

/**
 * Whether the peer refused the call without processing it (RFC 9113 §8.7): its connection was being closed for its age
 * when the call was sent. Any such call is safe to repeat.
 */
function wasNotProcessed(error: ServiceError): boolean {
  // grpc-js gives the code of the refusal as this text only.
  return error.code === status.UNAVAILABLE && error.details === 'Stream refused by server';
}

/**
 * A grpc-js target that round-robin can spread over: one DNS name, or any number of IPv4 addresses. Throws for other
 * lists, which grpc-js can't express.
 */
export function target(addresses: readonly string[]): string {
  const [first, ...others] = addresses;
  if (first === undefined) throw new Error('a peer needs an address');
  if (addresses.every((address) => /^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)))
    return `ipv4:${addresses.join(',')}`;
  if (others.length > 0) throw new Error(`several addresses of a peer must be IPv4: ${addresses.join(',')}`);
  return first.startsWith('dns:///') ? first : `dns:///${first}`;
}
