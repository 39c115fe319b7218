import { sendersTo } from '@gatehouse/contract/services';
import { readDeletionEvent, type DeletedAgentEvent } from '@gatehouse/events/deletion-event';
import { AppError } from '@gatehouse/kit/errors';
import { EventsServiceService, type TakeRequest } from '@gatehouse/proto/events/v1/events';
import type { TestIdentity } from '@gatehouse/test/identity';
import { StandIn } from '@gatehouse/test/stand-in';

/** Stands in for memory: takes deletions of agents. */
export class MemoryOfAgents {
  /** Deleted agents, in the order in which they came. */
  readonly deleted: DeletedAgentEvent[] = [];
  /** The next deletions that it can't take, because its database is down. */
  failures = 0;
  #server: StandIn | undefined;

  static async start(identity: TestIdentity): Promise<MemoryOfAgents> {
    const memory = new MemoryOfAgents();
    const take = {
      callers: sendersTo('memory'),
      handle: async ({ events }: TakeRequest) => {
        for (const event of events.map(readDeletionEvent))
          if (event?.type === 'agent') memory.deleted.push(event.agent);
        if (memory.failures === 0) return {};
        memory.failures -= 1;
        throw new AppError('database_unavailable', 'Not now.');
      },
    };
    memory.#server = await StandIn.start('memory', identity, {
      definition: EventsServiceService,
      rpcs: { take },
    });
    return memory;
  }

  get server(): StandIn {
    if (this.#server === undefined) throw new Error('memory was not started');
    return this.#server;
  }

  /** How often an agent came. */
  callsFor(agentId: string): number {
    return this.deleted.filter(({ agent_id: id }) => id === agentId).length;
  }
}
