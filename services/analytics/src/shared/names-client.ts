import type { RpcClient } from '@gatehouse/grpc/client';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { AgentName, AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { KeyName, TenantName, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Names } from './names.ts';

/** How long one answer waits for names. Those that have not come by then are left out. */
const namesDeadlineMs = 1_000;

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
    return this.#byId(ids, async (some, deadlineMs) => {
      const { agent } = this.#dependencies;
      return (await agent.call('describeAgents', { tenantId, ids: some }, { deadlineMs })).agents;
    });
  }

  /** Names of API keys, by id. Skips nulls. */
  apiKeys(tenantId: string, ids: Iterable<string | null>): Promise<ReadonlyMap<string, KeyName>> {
    return this.#byId(ids, async (some, deadlineMs) => {
      const { tenant } = this.#dependencies;
      return (await tenant.call('describeKeys', { tenantId, ids: some }, { deadlineMs })).keys;
    });
  }

  /** Slugs and names of tenants, by id, for owners. Skips nulls. */
  tenants(ids: Iterable<string | null>): Promise<ReadonlyMap<string, TenantName>> {
    return this.#byId(ids, async (some, deadlineMs) => {
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

  async #byId<Name extends { id: string }>(
    ids: Iterable<string | null>,
    describe: (ids: string[], deadlineMs: number) => Promise<Name[]>,
  ): Promise<ReadonlyMap<string, Name>> {
    const wanted = [...new Set(ids)].filter((id) => id !== null);
    const names = new Map<string, Name>();
    const until = monotonicMs() + namesDeadlineMs;
    try {
      for (let from = 0; from < wanted.length && monotonicMs() < until; from += maxDescribedIds) {
        const some = wanted.slice(from, from + maxDescribedIds);
        for (const name of await describe(some, until - monotonicMs())) names.set(name.id, name);
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#dependencies.log.warn({ err: error }, 'failed to read names; ids are shown without them');
    }
    return names;
  }
}
