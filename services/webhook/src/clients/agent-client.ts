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

  /** Throws a 400 for `agent_id` if the caller doesn't see the agent. */
  async assertVisible({ assertion, requestId, trace }: Call, agentId: string): Promise<void> {
    try {
      await this.#peer
        .call(
          'resolveAgent',
          { idOrKey: agentId },
          { deadlineMs: lookupDeadlineMs, assertion, requestId, trace },
        )
        .catch(hangIsOutage);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw new AppError('invalid_value', 'There is no such agent.', { param: 'agent_id', cause: error });
    }
  }
}
