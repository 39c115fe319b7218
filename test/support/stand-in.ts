import type { RpcService, RpcsOf } from '@gatehouse/grpc/rpc';
import type { GrpcServer } from '@gatehouse/grpc/server';
import type { TestIdentity } from './identity.ts';
import { peerServer } from './peer-server.ts';
import { someRpcs } from './some-rpcs.ts';

type ServiceDefinition = Parameters<GrpcServer['add']>[0];

/** A real gRPC server in the place of a service: implements some of its RPCs, and can be stopped and restarted. */
export class StandIn {
  readonly #make: (port: number) => Promise<GrpcServer>;
  #server: GrpcServer | undefined;
  #port = 0;

  private constructor(make: (port: number) => Promise<GrpcServer>) {
    this.#make = make;
  }

  static async start<Definition extends ServiceDefinition>(
    service: string,
    identity: TestIdentity,
    { definition, rpcs }: { definition: Definition; rpcs: Partial<RpcsOf<Definition>> },
    also: readonly RpcService[] = [],
  ): Promise<StandIn> {
    const started = new StandIn(async (port) => {
      const server = await peerServer(service, identity, port);
      for (const other of also) server.add(other.definition, other.rpcs);
      return server.add(definition, someRpcs(definition, rpcs));
    });
    await started.restart();
    return started;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** At the old address, if there was one. */
  async restart(): Promise<void> {
    this.#server = await this.#make(this.#port);
    await this.#server.start();
    this.#port = this.#server.port;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }
}
