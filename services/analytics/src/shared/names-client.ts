import type { RpcClient } from '@gatehouse/grpc/client';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { AgentName, AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { KeyName, TenantName, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Names } from './names.ts';

/** How long a call for names may take, and for how long one answer makes further calls; then it leaves names out. */
const deadlineMs = 1_000;

export interface NamesDependencies {
  tenant: RpcClient<TenantServiceClient>;
  agent: RpcClient<AgentServiceClient>;
  log: Logger;
}

/**
 * Names for the ids on one page of a tenant. An id has no name if it is unknown, deleted or another tenant's, and while
 * the service that has the names is away: no list fails for a name. Names are read for each page and never cached.
 */
export class NamesClient {
  readonly #dependencies: NamesDependencies;

  constructor(dependencies: NamesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Keys and names of agents, by id. Skips nulls. */
  agents(tenantId: string, ids: Iterable<string | null>): Promise<ReadonlyMap<string, AgentName>> {
    return this.#byId(ids, async (some) => {
      const { agent } = this.#dependencies;
      return (await agent.call('describeAgents', { tenantId, ids: some }, { deadlineMs })).agents;
    });
  }

  /** Names of API keys, by id. Skips nulls. */
  apiKeys(tenantId: string, ids: Iterable<string | null>): Promise<ReadonlyMap<string, KeyName>> {
    return this.#byId(ids, async (some) => {
      const { tenant } = this.#dependencies;
      return (await tenant.call('describeKeys', { tenantId, ids: some }, { deadlineMs })).keys;
    });
  }

  /** Slugs and names of tenants, by id, for owners. Skips nulls. */
  tenants(ids: Iterable<string | null>): Promise<ReadonlyMap<string, TenantName>> {
    return this.#byId(ids, async (some) => {
      const { tenant } = this.#dependencies;
      return (await tenant.call('describeTenants', { ids: some }, { deadlineMs })).tenants;
    });
  }

  /** The names of the agents and API keys of these runs. */
  async namesOf(
    tenantId: string,
    rows: readonly { agent_id: string | null; api_key_id: string | null }[],
  ): Promise<Names> {
    const [agents, apiKeys] = await Promise.all([
      this.agents(
        tenantId,
        rows.map((row) => row.agent_id),
      ),
      this.apiKeys(
        tenantId,
        rows.map((row) => row.api_key_id),
      ),
    ]);
    return { agents, apiKeys };
  }

  /** Ids of agents with a key or name, and of API keys with a name, that begins with this text; at most 200 of each. */
  async idsNamed(tenantId: string, namePrefix: string): Promise<{ agents: string[]; apiKeys: string[] }> {
    const { tenant, agent } = this.#dependencies;
    const request = { tenantId, ids: [], namePrefix };
    const [agents, apiKeys] = await Promise.all([
      this.#orNone(async () => (await agent.call('describeAgents', request, { deadlineMs })).agents),
      this.#orNone(async () => (await tenant.call('describeKeys', request, { deadlineMs })).keys),
    ]);
    return { agents: agents.map(({ id }) => id), apiKeys: apiKeys.map(({ id }) => id) };
  }

  async #byId<Name extends { id: string }>(
    ids: Iterable<string | null>,
    describe: (ids: string[]) => Promise<Name[]>,
  ): Promise<ReadonlyMap<string, Name>> {
    const wanted = [...new Set(ids)].filter((id) => id !== null);
    const names = new Map<string, Name>();
    const until = monotonicMs() + deadlineMs;
    for (let from = 0; from < wanted.length && monotonicMs() < until; from += maxDescribedIds) {
      const some = wanted.slice(from, from + maxDescribedIds);
      for (const name of await this.#orNone(() => describe(some))) names.set(name.id, name);
    }
    return names;
  }

  async #orNone<Name>(read: () => Promise<Name[]>): Promise<Name[]> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#dependencies.log.warn({ err: error }, 'failed to read names');
      return [];
    }
  }
}
