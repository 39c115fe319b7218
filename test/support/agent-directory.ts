import type { GrpcServer } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { AgentServiceService, type Agent } from '@gatehouse/proto/agent/v1/agent';
import type { TestIdentity } from './identity.ts';
import { peerServer } from './peer-server.ts';
import { someRpcs } from './some-rpcs.ts';

interface KnownAgent {
  tenantId: string;
  id: string;
  key: string;
  analyser: string;
}

/** Stands in for the agent service: a real gRPC server that knows the agents of a test. */
export class AgentDirectory {
  readonly #agents: KnownAgent[] = [];
  readonly #identity: TestIdentity;
  #server: GrpcServer | undefined;

  private constructor(identity: TestIdentity) {
    this.#identity = identity;
  }

  static async start(identity: TestIdentity): Promise<AgentDirectory> {
    const directory = new AgentDirectory(identity);
    await directory.restart();
    return directory;
  }

  get address(): string {
    return `127.0.0.1:${this.#server?.port ?? 0}`;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** At the old address, if there was one. */
  async restart(): Promise<void> {
    const server = await peerServer('agent', this.#identity, this.#server?.port);
    const rpcs = someRpcs(AgentServiceService, {
      resolveAgent: {
        callers: ['chat', 'memory', 'webhook'],
        handle: async ({ idOrKey }, { principal }) => {
          const found = this.#agents.find(
            ({ tenantId, id, key }) => tenantId === principal?.tenantId && [id, key].includes(idOrKey),
          );
          if (found === undefined) throw new AppError('not_found', 'There is no such agent.');
          return { agent: toMessage(found) };
        },
      },
    });
    this.#server = server.add(AgentServiceService, rpcs);
    await server.start();
  }

  /** Adds an agent of a tenant. */
  add(tenantId: string, key: string, { analyser = 'english', id = newId() } = {}): string {
    this.#agents.push({ tenantId, id, key, analyser });
    return id;
  }

  setAnalyser(agentId: string, analyser: string): void {
    const agent = this.#agents.find(({ id }) => id === agentId);
    if (agent !== undefined) agent.analyser = analyser;
  }

  remove(agentId: string): void {
    this.#agents.splice(
      this.#agents.findIndex(({ id }) => id === agentId),
      1,
    );
  }
}

function toMessage({ id, key, analyser }: KnownAgent): Agent {
  return {
    id,
    key,
    model: 'small',
    modelFallbacks: [],
    systemPrompt: '',
    parametersJson: '{}',
    status: 'active',
    created: 0n,
    memory: { enabled: true, recallLimit: 5, write: true, analyser, minScore: 0 },
  };
}
