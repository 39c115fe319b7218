import type { GrpcServer } from '@gatehouse/grpc/server';
import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { ChatServiceService, type CompleteRequest } from '@gatehouse/proto/chat/v1/chat';
import { chatRpcs } from '@gatehouse/test/chat-rpcs';
import type { TestIdentity } from '@gatehouse/test/identity';
import { peerServer } from '@gatehouse/test/peer-server';

/** Stands in for chat: a real gRPC server that completes each call id once, with what the test sets. */
export class ExtractionModel {
  /** The text of the model's message. */
  answer: string | null = '';
  /** The error that chat answers with instead. */
  error: ErrorCode | null = null;
  /** Runs before each answer. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();
  /** Calls that reached the model: repeats of a call id do not. */
  readonly calls: (CompleteRequest & { runId: string; tenantId: string | null; user: string | null })[] = [];
  readonly #completions = new Map<string, { runId: string; completionJson: string }>();
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    server.add(
      ChatServiceService,
      chatRpcs({
        complete: {
          callers: ['memory'],
          handle: async (request, { principal, trace }) => {
            if (this.error !== null) throw new AppError(this.error, 'As the test wants it.');
            const completed = this.#completions.get(request.callId) ?? this.#complete();
            if (!this.#completions.has(request.callId)) {
              const { runId } = completed;
              const [tenantId, user] = [principal?.tenantId ?? null, principal?.userId ?? null];
              this.calls.push({ ...request, runId, tenantId, user });
            }
            this.#completions.set(request.callId, completed);
            await this.meanwhile();
            return { ...completed, traceId: trace.traceId };
          },
        },
      }),
    );
  }

  static async start(identity: TestIdentity): Promise<ExtractionModel> {
    const server = await peerServer('chat', identity);
    const model = new ExtractionModel(server);
    await server.start();
    return model;
  }

  get address(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  #complete(): { runId: string; completionJson: string } {
    const message = { role: 'assistant', content: this.answer, refusal: null };
    const completion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message }],
    };
    return { runId: newId(), completionJson: JSON.stringify(completion) };
  }
}
