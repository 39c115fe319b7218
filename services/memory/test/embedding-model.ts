import type { GrpcServer } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { chatRpcs } from '@gatehouse/test/chat-rpcs';
import type { TestIdentity } from '@gatehouse/test/identity';
import { peerServer } from '@gatehouse/test/peer-server';

/** Words that mean the same share a component. */
const meanings = [
  ['car', 'automobile', 'vehicle'],
  ['dog', 'hound', 'puppy'],
  ['sea', 'ocean', 'water'],
  ['bread', 'loaf', 'bakery'],
];

/** Stands in for chat: a real gRPC server that embeds texts by a few meanings, but none with the word `refused`. */
export class EmbeddingModel {
  /** The catalogue id of the model; null without one. */
  model: string | null = null;
  /** Milliseconds that each call takes. */
  delayMs = 0;
  readonly texts: string[] = [];
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    server.add(
      ChatServiceService,
      chatRpcs({
        embed: {
          callers: ['memory'],
          acceptsDelegation: true,
          handle: async ({ texts }) => {
            if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
            if (this.model === null)
              throw new AppError('embeddings_not_configured', 'The catalogue has no embedding model.');
            if (texts.some((text) => text.includes('refused')))
              throw new AppError('invalid_value', 'The provider refuses such texts.');
            this.texts.push(...texts);
            const { model } = this;
            return { model, embeddings: texts.map((text) => ({ values: vectorOf(text, model) })) };
          },
        },
      }),
    );
  }

  static async start(identity: TestIdentity): Promise<EmbeddingModel> {
    const server = await peerServer('chat', identity);
    const model = new EmbeddingModel(server);
    await server.start();
    return model;
  }

  get address(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }
}

/** Models named `…-large` have vectors of another size. */
function vectorOf(text: string, model: string): number[] {
  const words = text.toLowerCase().split(/\W+/);
  const vector = meanings.map((same) => words.filter((word) => same.includes(word)).length - 0.1);
  return model.endsWith('-large') ? [...vector, ...vector.map((value) => -value)] : vector;
}
