import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import type { TurnSettings } from '@gatehouse/contract/agents';
import { usdOf } from '@gatehouse/kit/money';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { AppError } from '@gatehouse/kit/errors';
import { nearestNames } from '@gatehouse/kit/nearest-names';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { Agent, AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { AgentName, ResolvedAgent } from './target.ts';
import type { ProvenActor } from '../shared/actor.ts';

interface CachedAgent {
  agent: ResolvedAgent;
  /** In memory: a prompt may have 200,000 characters, and parameters a mebibyte. */
  bytes: number;
}

/** The longest key; an id is shorter. */
const maxRefLength = 64;

/**
 * Agents visible to a caller. Each request asks the agent service, so a change applies from the next request on.
 * Concurrent requests for one agent share a call, and during an outage the last answer is valid for five minutes.
 */
export class AgentClient {
  readonly #peer: RpcClient<AgentServiceClient>;
  readonly #cache: OutageCache<CachedAgent>;

  constructor(peer: RpcClient<AgentServiceClient>) {
    this.#peer = peer;
    this.#cache = new OutageCache({
      max: 10_000,
      size: { maxBytes: 64 * 1024 * 1024, bytesOf: ({ bytes }) => bytes },
      freshMs: 0,
      outageMs: 5 * 60_000,
      isOutage,
    });
  }

  /** The agent with this id or key, or null when the caller can't see one. */
  async resolve(actor: ProvenActor, ref: string): Promise<ResolvedAgent | null> {
    if (ref.length > maxRefLength) return null;
    try {
      const key = cacheKey(actor.sees, ref);
      return (await this.#cache.get(key, () => this.#load(actor, ref))).agent;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return null;
      throw error;
    }
  }

  /** Active agents for the caller's use, newest first, a page at a time. */
  async *list(actor: ProvenActor): AsyncGenerator<AgentName[]> {
    let before = '';
    for (let more = true; more;) {
      const { agents, hasMore } = await this.#peer
        .call('listVisibleAgents', { before }, await context(actor))
        .catch(hangIsOutage);
      yield agents.map(({ key, created }) => ({ key, created: Number(created) }));
      before = agents.at(-1)?.id ?? '';
      more = hasMore && before !== '';
    }
  }

  /** The names, as `model` has them, of the agents most like an unknown one; none where the service is away. */
  async nearest(actor: ProvenActor, ref: string): Promise<string[]> {
    const known: string[] = [];
    try {
      for await (const page of this.list(actor)) {
        known.push(...page.map(({ key }) => `agent:${key}`));
        break;
      }
    } catch (error) {
      if (!isOutage(error)) throw error;
    }
    return nearestNames(`agent:${ref}`, known);
  }

  async #load(actor: ProvenActor, ref: string): Promise<CachedAgent> {
    const { agent } = await this.#peer
      .call('resolveAgent', { idOrKey: ref }, await context(actor))
      .catch(hangIsOutage);
    if (agent === undefined) throw new Error('the agent service answered without an agent');
    const { systemPrompt, parametersJson } = agent;
    return { agent: toResolved(agent), bytes: 2 * (systemPrompt.length + parametersJson.length) };
  }
}

async function context({ requestId, trace, proofFor }: ProvenActor): Promise<CallContext> {
  return { deadlineMs: lookupDeadlineMs, requestId, trace, assertion: await proofFor('agent') };
}

function toResolved(message: Agent): ResolvedAgent {
  const { parametersJson, created, settingsJson, memory: _memory, tools: _tools, ...agent } = message;
  const parameters = JSON.parse(parametersJson) as Record<string, unknown>;
  const settings =
    settingsJson === undefined ? settingsOfMembers(message) : (JSON.parse(settingsJson) as TurnSettings);
  return { ...agent, parameters, settings, created: Number(created) };
}

/** The settings as release 0.3.0 of the agent service sends them. It goes with the release after the next. */
function settingsOfMembers({ memory, tools }: Agent): TurnSettings {
  return {
    memory:
      memory === undefined
        ? null
        : {
            ...{ enabled: memory.enabled, recall_limit: memory.recallLimit, min_score: memory.minScore },
            ...{ write: memory.write, analyser: memory.analyser === 'simple' ? 'simple' : 'english' },
          },
    tools:
      tools === undefined
        ? null
        : {
            max_iterations: tools.maxIterations,
            max_cost_usd: tools.maxCostPico === undefined ? null : usdOf(BigInt(tools.maxCostPico)),
          },
  };
}
