import { tokenOf } from '@gatehouse/identity/local-assertion';
import type { Signer } from '@gatehouse/identity/signer';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { checkServiceName, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import { sleep } from '@gatehouse/kit/clock';
import {
  connectivityState,
  experimental,
  Metadata,
  status,
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { FilesProvider } from './certificate-provider.ts';
import type { Channel, OutgoingCall, StubClass } from './channel.ts';
import { isAnswer, isLost, unavailable } from './errors.ts';
import { idempotentRpcs } from './idempotent.ts';
import { callerTokenKey, requestIdKey, traceparentKey } from './metadata.ts';
import { RenewedClient } from './renewed-client.ts';

/** Repeats of calls the peer refused. grpc-js repeats a refused call once by itself, without delay. */
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
};

export interface GrpcChannelOptions {
  /** The audience of the service token. */
  peer: string;
  addresses: readonly string[];
  stub: StubClass<Client>;
  signer: Signer;
  /** This side's certificate, and the CAs of the peer's, which must have the peer's name. If unset, there is no TLS. */
  certificate?: CertificateFiles | undefined;
}

/** The way to the replicas of a peer: gRPC connections, in turn. Each call carries a service token. */
export class GrpcChannel implements Channel {
  readonly #client: RenewedClient;
  readonly #methods: ServiceDefinition;
  readonly #peer: string;
  readonly #signer: Signer;
  readonly #certificate: CertificateFiles | undefined;
  #reachable = false;
  #reached = false;

  constructor({ peer, addresses, stub: Stub, signer, certificate }: GrpcChannelOptions) {
    this.#peer = peer;
    this.#signer = signer;
    this.#certificate = certificate;
    this.#methods = Stub.service;
    this.#client = new RenewedClient(Stub, {
      target: target(addresses),
      options: { ...channelOptions, 'grpc.ssl_target_name_override': peer },
      ...(certificate === undefined ? {} : { credentials: credentialsOf(certificate) }),
    });
  }

  async send(name: string, call: OutgoingCall): Promise<unknown> {
    const { request, deadline, signal } = call;
    const expired = this.#certificate?.expired();
    if (expired !== undefined) throw this.#reported(unavailable(expired));
    const metadata = await this.#metadataOf(call);
    const method = this.#methods[name];
    if (method === undefined) throw new Error(`${this.#peer} has no RPC ${name}`);
    const { path } = method;
    const repeatsLeft = { refused: maxRepeats, lost: idempotentRpcs.has(path) ? 1 : 0 };
    for (;;) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(method, { request, metadata, deadline, signal });
      } catch (error) {
        const end = endOf(error as ServiceError);
        if (end === null || repeatsLeft[end] === 0) throw this.#reported(error as ServiceError);
        repeatsLeft[end] -= 1;
      }
      await sleep(repeatAfterMs);
    }
  }

  /** Logs why a call with TLS had no connection. */
  #reported(error: ServiceError): ServiceError {
    if (error.code === status.UNAVAILABLE && !isAnswer(error))
      this.#certificate?.refused.outgoing(this.#peer, reasonOf(error));
    return error;
  }

  #attempt(
    { path, requestSerialize, responseDeserialize }: ServiceDefinition[string],
    {
      request,
      metadata,
      deadline,
      signal,
    }: Pick<OutgoingCall, 'request' | 'deadline' | 'signal'> & { metadata: Metadata },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const sent = this.#client.call((client, onEnd) =>
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          metadata,
          { deadline },
          (failure, response) => {
            const error = onEnd(failure);
            signal?.removeEventListener('abort', cancel);
            if (error === null) resolve(response);
            else reject(error);
          },
        ),
      );
      const cancel = (): void => sent.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  async #metadataOf({ assertion, requestId, traceparent }: OutgoingCall): Promise<Metadata> {
    const metadata = new Metadata();
    metadata.set(callerTokenKey, await this.#signer.serviceToken(this.#peer));
    if (assertion !== undefined) metadata.set(assertionHeader, await tokenOf(assertion));
    if (requestId !== undefined) metadata.set(requestIdKey, requestId);
    if (traceparent !== undefined) metadata.set(traceparentKey, traceparent);
    return metadata;
  }

  /** Reading this makes an idle connection connect. */
  get reachable(): boolean {
    const state = this.#client.current.getChannel().getConnectivityState(true);
    if (state === connectivityState.READY) this.#reached = true;
    // While it reconnects, for example because of the maximum connection age, the previous value applies.
    const settled = state !== connectivityState.IDLE && state !== connectivityState.CONNECTING;
    if (settled) this.#reachable = state === connectivityState.READY;
    return this.#reachable;
  }

  get reached(): boolean {
    return this.#reached || this.reachable;
  }

  close(): void {
    this.#client.close();
  }
}

function credentialsOf(certificate: CertificateFiles): ChannelCredentials {
  const provider = new FilesProvider(certificate);
  return experimental.createCertificateProviderChannelCredentials(provider, provider, {
    checkServerIdentity: checkServiceName,
  });
}

/** The last error of connecting in the text of grpc-js, without its time. */
function reasonOf({ details }: ServiceError): string {
  const last = /.*Last error: (?:Error: )?(.*?)(?: \(\d{4}-\S+\))?\. Resolution note/.exec(details);
  return last?.[1] ?? details;
}

/**
 * The end of a call, if it may be repeated. A peer closing a connection for its age has refused calls without
 * processing them (RFC 9113 §8.7): they are always safe to repeat. A lost one may have been processed.
 */
function endOf(error: ServiceError): 'refused' | 'lost' | null {
  // grpc-js reports this code only as text.
  if (error.code === status.UNAVAILABLE && error.details === 'Stream refused by server') return 'refused';
  return isLost(error) ? 'lost' : null;
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
