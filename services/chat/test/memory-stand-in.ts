import type { RpcContext } from '@gatehouse/grpc/rpc';
import {
  MemoryServiceService,
  type Passage,
  type CallToolRequest,
  type RecallRequest,
  type RecallResponse,
  type RememberRequest,
} from '@gatehouse/proto/memory/v1/memory';
import type { GrpcServer } from '@gatehouse/grpc/server';
import { newId } from '@gatehouse/kit/ids';
import type { TestIdentity } from '@gatehouse/test/identity';
import { peerServer } from '@gatehouse/test/peer-server';

/** A memory service that answers what a test sets, over the real protocol. */
export class MemoryStandIn {
  readonly #identity: TestIdentity;
  #server: GrpcServer | null = null;
  #port = 0;
  passages: Passage[] = [];
  /** Runs before `Recall` answers; a rejection is its answer. */
  beforeRecall: () => Promise<unknown> = () => Promise.resolve();
  /** The same of `Remember`. */
  beforeRemember: () => Promise<unknown> = () => Promise.resolve();
  /** Calls of the tools that read it. */
  readonly toolCalls: CallToolRequest[] = [];
  readonly recalls: { request: RecallRequest; context: RpcContext }[] = [];
  /** Turns that were stored. */
  readonly turns: RememberRequest[] = [];
  rememberCalls = 0;

  constructor(identity: TestIdentity) {
    this.#identity = identity;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** At the old address, if there was one. */
  async start(): Promise<void> {
    const server = await peerServer('memory', this.#identity, this.#port);
    const unused = { callers: [], handle: () => Promise.reject(new Error('not part of this test')) };
    server.add(MemoryServiceService, {
      recall: {
        callers: ['chat'],
        acceptsDelegation: true,
        handle: async (request, context): Promise<RecallResponse> => {
          this.recalls.push({ request, context });
          await this.beforeRecall();
          return { passages: this.passages, mode: 'hybrid' };
        },
      },
      callTool: {
        callers: ['chat'],
        acceptsDelegation: true,
        handle: (request) => {
          this.toolCalls.push(request);
          return Promise.resolve({ content: `${request.tool} of memory`, outcome: 'ok' });
        },
      },
      remember: {
        callers: ['chat'],
        handle: async (turn) => {
          this.rememberCalls += 1;
          await this.beforeRemember();
          this.turns.push(turn);
          return { stored: true };
        },
      },
      agentDeleted: unused,
      getUsage: unused,
    });
    await server.start();
    this.#server = server;
    this.#port = server.port;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }
}

export function makePassage(fields: Partial<Passage> = {}): Passage {
  return {
    documentId: newId(),
    path: 'notes/returns.md',
    title: 'Returns',
    text: 'Customers may return an item within 30 days.',
    startLine: 3,
    endLine: 5,
    score: 0.7,
    ...fields,
  };
}
