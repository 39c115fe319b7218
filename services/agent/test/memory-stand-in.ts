import { AppError } from '@gatehouse/kit/errors';
import { MemoryServiceService, type AgentDeletedRequest } from '@gatehouse/proto/memory/v1/memory';
import type { TestIdentity } from '@gatehouse/test/identity';
import { StandIn } from '@gatehouse/test/stand-in';

/** Stands in for memory: removes what it has of deleted agents, in as many calls as a test says. */
export class MemoryOfAgents {
  /** Calls of `AgentDeleted`, in their order. */
  readonly calls: AgentDeletedRequest[] = [];
  /** Answers to the next calls; then it has completed. `fails`: its database is down. */
  readonly answers: ('more' | 'fails')[] = [];
  #server: StandIn | undefined;

  static async start(identity: TestIdentity): Promise<MemoryOfAgents> {
    const memory = new MemoryOfAgents();
    const agentDeleted = {
      callers: ['agent'],
      handle: async (request: AgentDeletedRequest) => {
        memory.calls.push(request);
        const answer = memory.answers.shift();
        if (answer === 'fails') throw new AppError('database_unavailable', 'Not now.');
        return { completed: answer !== 'more' };
      },
    };
    const definition = MemoryServiceService;
    memory.#server = await StandIn.start('memory', identity, { definition, rpcs: { agentDeleted } });
    return memory;
  }

  get server(): StandIn {
    if (this.#server === undefined) throw new Error('memory was not started');
    return this.#server;
  }

  /** How often it was called for an agent. */
  callsFor(agentId: string): number {
    return this.calls.filter((call) => call.agentId === agentId).length;
  }
}
