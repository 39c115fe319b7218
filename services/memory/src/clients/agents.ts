import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import { visibilityKey, type TenantPrincipal } from '@gatehouse/identity/principal';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { AppError } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { analyserOf, type Analyser } from '../shared/memory-key.ts';

/** The longest key; an id is shorter. */
const maxRefLength = 64;

export type AgentCaller = Pick<Call, 'assertion' | 'requestId' | 'trace'> & { principal: TenantPrincipal };

/** An agent, as far as its memory needs it. */
export interface AgentOfMemory {
  id: string;
  analyser: Analyser;
}

/**
 * Agents visible to a caller. An answer is valid for two seconds, or five minutes while the agent service is
 * unavailable.
 */
export class MemoryAgents {
  readonly #peer: RpcClient<AgentServiceClient>;
  readonly #cache: OutageCache<AgentOfMemory>;

  constructor(peer: RpcClient<AgentServiceClient>) {
    this.#peer = peer;
    this.#cache = new OutageCache({ max: 50_000, freshMs: 2_000, outageMs: 5 * 60_000, isOutage });
  }

  /** The agent with this id or key. Throws `not_found` if the caller can't see one. */
  async resolve(caller: AgentCaller, ref: string): Promise<AgentOfMemory> {
    if (ref === '' || ref.length > maxRefLength) throw noAgent();
    return this.#cache.get(cacheKey(visibilityKey(caller.principal), ref), () => this.#load(caller, ref));
  }

  async #load({ assertion, requestId, trace }: AgentCaller, ref: string): Promise<AgentOfMemory> {
    const { agent } = await this.#peer
      .call('resolveAgent', { idOrKey: ref }, { deadlineMs: lookupDeadlineMs, assertion, requestId, trace })
      .catch(hangIsOutage);
    if (agent === undefined) throw noAgent();
    return { id: agent.id, analyser: analyserOf(agent.memory?.analyser) };
  }
}

function noAgent(): AppError {
  return new AppError('not_found', 'There is no such agent.');
}
