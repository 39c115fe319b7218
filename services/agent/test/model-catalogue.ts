import type { GrpcServer } from '@gatehouse/grpc/server';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import type { TestIdentity } from '@gatehouse/test/identity';
import { chatRpcs } from '@gatehouse/test/chat-rpcs';
import { peerServer } from '@gatehouse/test/peer-server';

/** Chat as the agent service sees it: a real gRPC server that knows some models, and remembers what it was asked. */
export class ModelCatalogue {
  /** Ids that every tenant may use. */
  readonly models = new Set(['small', 'large', 'vendor/large']);
  /** Each question: for which tenant, and which models. */
  readonly asked: { tenantId: string | null | undefined; ids: string[] }[] = [];
  readonly #identity: TestIdentity;
  #hanging: PromiseWithResolvers<void> | null = null;
  #server: GrpcServer | undefined;

  private constructor(identity: TestIdentity) {
    this.#identity = identity;
  }

  static async start(identity: TestIdentity): Promise<ModelCatalogue> {
    const catalogue = new ModelCatalogue(identity);
    await catalogue.restart();
    return catalogue;
  }

  get address(): string {
    return `127.0.0.1:${this.#server?.port ?? 0}`;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** At the old address, if there was one. */
  async restart(): Promise<void> {
    const server = await peerServer('chat', this.#identity, this.#server?.port);
    this.#server = server.add(
      ChatServiceService,
      chatRpcs({
        checkModels: {
          callers: ['agent'],
          handle: async ({ ids }, { principal }) => {
            await this.#hanging?.promise;
            this.asked.push({ tenantId: principal?.tenantId, ids });
            const unknownIds = ids.filter((id) => !this.models.has(id));
            return { unknownIds, nearest: unknownIds.length === 0 ? [] : ['small', 'large'] };
          },
        },
      }),
    );
    await server.start();
  }

  /** From now on takes questions and answers none. */
  hang(): void {
    this.#hanging = Promise.withResolvers();
  }

  goOn(): void {
    this.#hanging?.resolve();
    this.#hanging = null;
  }
}
