import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';

/** The agents visible to a caller. */
export class AgentClient {
  readonly #peer: RpcClient<AgentServiceClient>;

  constructor(peer: RpcClient<AgentServiceClient>) {
    this.#peer = peer;
  }

  /** The id of the agent with this id or key. Throws a 400 for `agent_id` if the caller doesn't see one. */
  async idOf({ assertion, requestId, trace }: Call, idOrKey: string): Promise<string> {
    try {
      const { agent } = await this.#peer
        .call('resolveAgent', { idOrKey }, { deadlineMs: lookupDeadlineMs, assertion, requestId, trace })
        .catch(hangIsOutage);
      if (agent === undefined) throw new Error('the agent service answered without an agent');
      return agent.id;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw new AppError('invalid_value', 'There is no such agent.', { param: 'agent_id', cause: error });
    }
  }
}
