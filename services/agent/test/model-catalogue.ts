import { GrpcServer } from '@gatehouse/grpc/server';
import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import type { TestIdentity } from '@gatehouse/test/identity';

/** Chat as the agent service sees it: a real gRPC server that knows some models, and remembers what it was asked. */
export class ModelCatalogue {
  /** Ids that every tenant may use. */
  readonly models = new Set(['small', 'large', 'vendor/large']);
  /** Each question: for which tenant, and which models. */
  readonly asked: { tenantId: string | null | undefined; ids: string[] }[] = [];
  readonly #verifier: Verifier;
  #hanging: PromiseWithResolvers<void> | null = null;
  #server: GrpcServer;

  private constructor(verifier: Verifier) {
    this.#verifier = verifier;
    this.#server = this.#makeServer(0);
  }

  static async start(identity: TestIdentity): Promise<ModelCatalogue> {
    const catalogue = new ModelCatalogue(await Verifier.create(identity.publicKeys));
    await catalogue.#server.start();
    return catalogue;
  }

  get address(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  /** Back at the old address. */
  async restart(): Promise<void> {
    this.#server = this.#makeServer(this.#server.port);
    await this.#server.start();
  }

  /** From now on takes questions and answers none. */
  hang(): void {
    this.#hanging = Promise.withResolvers();
  }

  goOn(): void {
    this.#hanging?.resolve();
    this.#hanging = null;
  }

  #makeServer(port: number): GrpcServer {
    return new GrpcServer({
      service: 'chat',
      host: '127.0.0.1',
      port,
      verifier: this.#verifier,
      log: createLogger('chat', 'silent'),
      drainTimeoutMs: 100,
    }).add(ChatServiceService, {
      checkModels: {
        callers: ['agent'],
        handle: async ({ ids }, { principal }) => {
          await this.#hanging?.promise;
          this.asked.push({ tenantId: principal?.tenantId, ids });
          return { unknownIds: ids.filter((id) => !this.models.has(id)) };
        },
      },
    });
  }
}
