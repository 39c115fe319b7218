import type { Server as TlsServer } from 'node:tls';
import { assertionHeader, type Verifier } from '@gatehouse/identity/verifier';
import { checkServiceName, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import { AppError } from '@gatehouse/kit/errors';
import {
  experimental,
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { FilesProvider } from './certificate-provider.ts';
import { callerTokenKey, maxRequestBytes, requestIdKey, traceparentKey } from './metadata.ts';
import type { RpcsOf } from './rpc.ts';
import { namedRpcs, RpcRunner, type NamedRpc, type RpcRunnerOptions } from './rpc-runner.ts';

export interface GrpcServerOptions extends RpcRunnerOptions {
  host: string;
  port: number;
  drainTimeoutMs: number;
  /** Closes connections after this time (±10 %); calls in flight finish. */
  connectionAgeMs?: number;
  /** Interval at which all connections are closed gracefully while draining. */
  rotateMs?: number;
  /**
   * Its certificate and the CAs of its clients. A client's certificate must have the name of the calling service. If
   * unset, connections are not encrypted.
   */
  certificate?: CertificateFiles | undefined;
}

/**
 * A client looks up the name of its peer only after it loses a connection. Without a maximum age, a new replica would
 * get no calls.
 */
const connectionAgeMs = 30_000;
const rotateMs = 2_000;
/** A longer call sends the begin of its answer: grpc-js knows the address of a call only from then on. */
const beginsAfterMs = 500;

export class GrpcServer {
  readonly #server: Server;
  readonly #options: GrpcServerOptions;
  readonly #runner: RpcRunner;
  #port = 0;
  #rotation: NodeJS.Timeout | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#runner = new RpcRunner(options);
    this.#server = new Server({
      'grpc.max_receive_message_length': maxRequestBytes,
      // No grace period: calls have deadlines, and a call in flight is never cut because of the age of its connection.
      'grpc.max_connection_age_ms': options.connectionAgeMs ?? connectionAgeMs,
    });
    allowResets(this.#server);
  }

  /** Adds a service: its ts-proto definition and one {@link Rpc} per method. */
  add<Definition extends ServiceDefinition>(definition: Definition, rpcs: RpcsOf<Definition>): this {
    const handlers = namedRpcs(definition, rpcs).map((named): [string, UntypedHandleCall] => [
      named.method,
      this.#unary(named),
    ]);
    // The type of `rpcs` guarantees a handler for every method; grpc-js also requires an index signature.
    this.#server.addService(definition, Object.fromEntries(handlers));
    return this;
  }

  async start(): Promise<void> {
    const { host, port } = this.#options;
    this.#port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${host}:${port}`, credentialsOf(this.#options), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    const { certificate } = this.#options;
    if (certificate !== undefined)
      for (const server of tlsServersOf(this.#server)) certificate.refused.watch(server);
  }

  get port(): number {
    return this.#port;
  }

  /**
   * Keeps accepting calls and connections, but asks clients every two seconds to reconnect, so they move to others
   * before it closes if they no longer find this replica by DNS.
   */
  drain(): void {
    const { host, drainTimeoutMs, rotateMs: everyMs = rotateMs } = this.#options;
    this.#rotation = setInterval(() => {
      this.#server.drain(`${host}:${this.#port}`, drainTimeoutMs);
    }, everyMs);
  }

  /** Accepts no new calls, and cuts calls still unfinished after the drain time. */
  async stop(): Promise<void> {
    clearInterval(this.#rotation);
    await new Promise<void>((resolve) => {
      const cut = setTimeout(() => {
        this.#server.forceShutdown();
        // Resolves here too, because `tryShutdown` waits for each peer to confirm, which a frozen peer never does.
        resolve();
      }, this.#options.drainTimeoutMs);
      this.#server.tryShutdown(() => {
        clearTimeout(cut);
        resolve();
      });
    });
  }

  #unary(named: NamedRpc): UntypedHandleCall {
    const { service, verifier, certificate } = this.#options;
    const answer = async (
      call: ServerUnaryCall<unknown, unknown>,
      callback: sendUnaryData<unknown>,
    ): Promise<void> => {
      const { metadata } = call;
      const timer = setTimeout(() => call.sendMetadata(new Metadata()), beginsAfterMs);
      const outcome = await this.#runner.run(named, {
        request: call.request,
        caller: async () => {
          const caller = await callerOf(metadata, verifier, service);
          if (certificate !== undefined) checkCertificate(caller, call.getAuthContext());
          return caller;
        },
        assertion: text(metadata, assertionHeader),
        requestId: text(metadata, requestIdKey),
        traceparent: text(metadata, traceparentKey),
        deadline: Number(call.getDeadline()),
        signal: signalOf(call),
      });
      clearTimeout(timer);
      if ('failed' in outcome) callback(outcome.failed);
      else callback(null, outcome.response);
    };
    return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) =>
      void answer(call, callback);
  }
}

/**
 * Each call cancelled or given up by its caller is an RST_STREAM. Node ends a session, with all calls on it, after more
 * than 1,000 at once and 33 a second, as a defence of public servers. Only services of one installation connect here,
 * with one session for the calls of all tenants, so a session takes as many resets as calls.
 */
const resets = { streamResetBurst: 1_000_000, streamResetRate: 1_000_000 };

/** grpc-js has no option for these settings of `http2.createServer`; the test of cancelled calls finds a change of it. */
function allowResets(server: Server): void {
  const { commonServerOptions } = server as unknown as { commonServerOptions: object | undefined };
  if (commonServerOptions === undefined) throw new Error('grpc-js keeps its HTTP/2 options elsewhere');
  Object.assign(commonServerOptions, resets);
}

/** grpc-js has no event for failed handshakes; the test of refused certificates finds a change of it. */
function tlsServersOf(server: Server): Iterable<TlsServer> {
  const { http2Servers } = server as unknown as { http2Servers: ReadonlyMap<TlsServer, unknown> | undefined };
  if (http2Servers === undefined) throw new Error('grpc-js keeps its HTTP/2 servers elsewhere');
  return http2Servers.keys();
}

function credentialsOf({ certificate }: GrpcServerOptions): ServerCredentials {
  if (certificate === undefined) return ServerCredentials.createInsecure();
  const provider = new FilesProvider(certificate);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

type AuthContext = ReturnType<ServerUnaryCall<unknown, unknown>['getAuthContext']>;

/** Throws unless the certificate of the connection has the name of the service that the token names. */
function checkCertificate(caller: string, { sslPeerCertificate }: AuthContext): void {
  const problem = sslPeerCertificate === undefined ? undefined : checkServiceName(caller, sslPeerCertificate);
  if (sslPeerCertificate === undefined || problem !== undefined)
    throw new AppError('service_unauthenticated', `The certificate is not one of the ${caller} service.`, {
      cause: problem,
    });
}

async function callerOf(metadata: Metadata, verifier: Verifier, service: string): Promise<string> {
  return verifier.callerOf(text(metadata, callerTokenKey) ?? '', service).catch((error: unknown) => {
    throw new AppError('service_unauthenticated', 'The call has no valid service token.', { cause: error });
  });
}

function signalOf(call: ServerUnaryCall<unknown, unknown>): AbortSignal {
  const cancelled = new AbortController();
  const abort = (): void => cancelled.abort(new AppError('client_closed_request', 'The call was cancelled.'));
  call.once('cancelled', abort);
  if (call.cancelled) abort();
  return cancelled.signal;
}

function text(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : undefined;
}
