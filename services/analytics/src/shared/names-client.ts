import type { OwnerSummaryQuery } from '@gatehouse/contract/usage';
import type { RpcClient } from '@gatehouse/grpc/client';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { AgentName, AgentServiceClient, DescribeAgentsRequest } from '@gatehouse/proto/agent/v1/agent';
import type { KeyName, TenantName, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Names } from './names.ts';
import type { Viewer } from './viewer.ts';

type TenantFilter = Pick<OwnerSummaryQuery, 'tenant' | 'tenant_id'>;

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

  /** Keys and names of agents visible to the viewer, by id. Skips nulls. */
  agents(viewer: Viewer, ids: Iterable<string | null>): Promise<ReadonlyMap<string, AgentName>> {
    return this.#byId(ids, async (some) => {
      const { agent } = this.#dependencies;
      const request = { ...sightOf(viewer), ids: some, keys: [] };
      return (await agent.call('describeAgents', request, { deadlineMs })).agents;
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

  /**
   * The id of the tenant in an owner's filter, which has an id or a slug; null without a filter. Throws a 400 for an unknown
   * slug, and 503 while the tenant service is away.
   */
  async tenantOf({ tenant: ref, tenant_id: id }: TenantFilter): Promise<string | null> {
    if (ref === undefined) return id ?? null;
    if (id !== undefined)
      throw new AppError('invalid_value', 'Invalid value for tenant_id: tenant is given.', {
        param: 'tenant_id',
      });
    if (isUuid(ref)) return ref;
    const { tenant } = this.#dependencies;
    const { tenants } = await tenant.call('describeTenants', { ids: [], slug: ref }, { deadlineMs });
    const known = tenants.find(({ slug }) => slug === ref);
    if (known === undefined)
      throw new AppError(
        'invalid_value',
        `Invalid value for tenant: there is no tenant ${JSON.stringify(ref)}.`,
        {
          param: 'tenant',
        },
      );
    return known.id;
  }

  /** The names of the agents and API keys of these runs. */
  async namesOf(
    viewer: Viewer,
    rows: readonly { agent_id: string | null; api_key_id: string | null }[],
  ): Promise<Names> {
    const [agents, apiKeys] = await Promise.all([
      this.agents(
        viewer,
        rows.map((row) => row.agent_id),
      ),
      this.apiKeys(
        viewer.tenantId,
        rows.map((row) => row.api_key_id),
      ),
    ]);
    return { agents, apiKeys };
  }

  /** Ids of agents with a key or name, and of API keys with a name, that begins with this text; at most 200 of each. */
  async idsNamed(viewer: Viewer, namePrefix: string): Promise<{ agents: string[]; apiKeys: string[] }> {
    const { tenant, agent } = this.#dependencies;
    const { tenantId } = viewer;
    const search = { ids: [], namePrefix };
    const agentSearch = { ...sightOf(viewer), ...search, keys: [] };
    const [agents, apiKeys] = await Promise.all([
      this.#orNone(async () => (await agent.call('describeAgents', agentSearch, { deadlineMs })).agents),
      this.#orNone(
        async () => (await tenant.call('describeKeys', { tenantId, ...search }, { deadlineMs })).keys,
      ),
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

/** Names of private agents are for admins and their owners. */
function sightOf({
  tenantId,
  previewsOf: { all, user },
}: Viewer): Pick<DescribeAgentsRequest, 'tenantId' | 'onlyVisible' | 'userId'> {
  return { tenantId, onlyVisible: !all, userId: user ?? '' };
}
