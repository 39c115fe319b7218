import { topics } from '@gatehouse/contract/services';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import { RpcClient } from '@gatehouse/grpc/client';
import type { Principal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import { AgentServiceService, type AgentName } from '@gatehouse/proto/agent/v1/agent';
import {
  TenantServiceClient,
  TenantServiceService,
  type KeyName,
  type TenantName,
} from '@gatehouse/proto/tenant/v1/tenant';
import { peerServer } from '@gatehouse/test/peer-server';
import type { Service } from '@gatehouse/shell/service';
import { ServiceGround } from '@gatehouse/test/service-ground';
import { someRpcs } from '@gatehouse/test/some-rpcs';
import { ServiceUnderTest } from '@gatehouse/test/service-under-test';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { loadConfig } from '../src/config.ts';
import { foldRuns } from '../src/rollups/rollup-job.ts';
import { TenantSettingsClient } from '../src/shared/tenant-settings-client.ts';
import { Retention } from '../src/retention/retention-job.ts';
import type { Stores } from '../src/stores.ts';
import { createService, type AnalyticsOverrides } from '../src/service.ts';
import { postgres, type Engine } from './describe-stores.ts';
import { makeEnd, makeStart, received } from './event-fixture.ts';

const log = createLogger('analytics-test', 'silent');
const dayMs = 86_400_000;

/** The analytics service, and a tenant service that answers what a test sets. */
export class AnalyticsHarness extends ServiceUnderTest<RpcClient<ParticipantServiceClient>, unknown> {
  /** Days by tenant id; a tenant that is not here is unknown. */
  readonly retentionDays = new Map<string, number>();
  /** Errors with which the tenant service refuses to answer about a tenant, by id. */
  readonly refusals = new Map<string, AppError>();
  /** The tenants whose settings were read so far. */
  readonly settingsRead: string[] = [];
  /** Names of agents and keys by tenant id, as their services have them. */
  readonly agents = new Map<string, (AgentName & { privateOf?: string })[]>();
  readonly apiKeys = new Map<string, KeyName[]>();
  readonly tenants: TenantName[] = [];
  /** Whether the tenant service can be reached. */
  tenantServiceIsAway = false;
  /** Whether the agent service can be reached. */
  agentServiceIsAway = false;
  readonly #overrides: AnalyticsOverrides;
  readonly #engine: Engine;
  #tenantAddress = '';
  #agentAddress = '';
  #stores: Stores | undefined;

  private constructor(ground: ServiceGround, overrides: AnalyticsOverrides, engine: Engine) {
    super('analytics', ground);
    this.#overrides = overrides;
    this.#engine = engine;
  }

  /** Old traces are deleted when a test says so, or as `overrides` have it. */
  static async start(
    overrides: AnalyticsOverrides = { retentionTimes: { firstMs: dayMs } },
    engine: Engine = postgres,
  ): Promise<AnalyticsHarness> {
    const harness = new AnalyticsHarness(await ServiceGround.prepare('analytics'), overrides, engine);
    await harness.#startTenantService();
    await harness.#startAgentService();
    await harness.run();
    return harness;
  }

  create(environment: Record<string, string>): Promise<Service> {
    return createService(loadConfig(environment), this.#overrides);
  }

  override environment(): Record<string, string> {
    const peers = { TENANT_GRPC: this.#tenantAddress, AGENT_GRPC: this.#agentAddress };
    return { ...super.environment(), DATABASE_POOL: '4', ...peers, ...this.#engine.environment };
  }

  protected connect(address: string, signer: Signer): RpcClient<ParticipantServiceClient> {
    return new RpcClient({ peer: 'analytics', addresses: [address], stub: ParticipantServiceClient, signer });
  }

  /** Sends events as chat does when there is no Kafka, and adds all runs to the roll-ups. */
  async ingest(...events: (string | RunStarted | RunEnded)[]): Promise<void> {
    if (events.length > 0) await this.store(...events);
    await foldRuns(this.stores.rollups);
  }

  /** Sends events as chat does when there is no Kafka. */
  async store(...events: (string | RunStarted | RunEnded)[]): Promise<void> {
    const source = 'gatehouse/chat';
    const texts = events.map((event) =>
      typeof event === 'string' ? event : received(event).payload.toString('utf8'),
    );
    await this.send('chat', { topic: topics.usage, source, events: texts, fresh: false });
  }

  /** The body that a GET answers to this principal. Throws unless the status is 200. */
  async get(path: string, principal: Partial<Principal>): Promise<unknown> {
    const { status, body } = await this.call('GET', path, { as: principal });
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Ids of a tenant's traces, oldest first. */
  async traceIds(tenantId: string): Promise<string[]> {
    const rows = await this.rows('select id from analytics.traces where tenant_id = $1 order by id', [
      tenantId,
    ]);
    return rows.map((row) => String(row['id']));
  }

  /** Makes the partitions of the months between that long ago and now. */
  async makePartitions(daysAgo: number): Promise<void> {
    await this.rows(
      `select analytics.ensure_partition(month::date)
       from generate_series(date_trunc('month', now() - $1 * interval '1 day'), now(), '1 month') as month`,
      [daysAgo],
    );
  }

  /**
   * Stores runs that ended that long ago, as events did which came in time, and returns their ids. Only the service's
   * idea of "late" stands in the way of sending events, so theirs are sent as if the runs were of today.
   */
  async makeOldRuns(tenantId: string, ...daysAgo: number[]): Promise<string[]> {
    await this.makePartitions(Math.max(...daysAgo));
    const ids: string[] = [];
    for (const days of daysAgo) {
      const run = endOf(startOf({ tenant_id: tenantId, user_id: 'ada' }, days));
      const { run_id: id } = run;
      const young = newId();
      await this.store({ ...run, run_id: young });
      await this.rows('update analytics.traces set id = $2, changed_at = ended_at where id = $1', [
        young,
        id,
      ]);
      ids.push(id);
    }
    await this.ingest();
    return ids;
  }

  pool(role: string): Pool {
    const pool = createPool({ url: this.database.url, role, max: 4, log });
    this.ground.onStop(() => pool.end());
    return pool;
  }

  /** The stores of one more replica. */
  get stores(): Stores {
    if (this.#stores !== undefined) return this.#stores;
    const [system, app] = [this.pool('analytics_system'), this.pool('analytics_app')];
    this.#stores = this.#engine.open({ system, app, summaries: app, exports: app, owners: system }, log);
    return this.#stores;
  }

  /** The retention job of one more replica; the test starts its sweeps. */
  async retention(batchSize?: number): Promise<Retention> {
    const tenant = new RpcClient({
      peer: 'tenant',
      addresses: [this.#tenantAddress],
      stub: TenantServiceClient,
      signer: await this.identity.signer('analytics'),
    });
    this.ground.onStop(() => tenant.close());
    return new Retention({
      store: this.stores.retention,
      tenants: new TenantSettingsClient(tenant),
      log,
      registry: createRegistry('analytics-test'),
      batchSize,
    });
  }

  async #startTenantService(): Promise<void> {
    const rpcs = tenantRpcs({
      getTenantSettings: {
        callers: ['analytics'],
        handle: ({ tenantId }) => {
          this.settingsRead.push(tenantId);
          if (this.tenantServiceIsAway)
            return Promise.reject(new AppError('service_unavailable', 'The tenant service is away.'));
          const refusal = this.refusals.get(tenantId);
          if (refusal !== undefined) return Promise.reject(refusal);
          const retentionDays = this.retentionDays.get(tenantId);
          if (retentionDays === undefined)
            return Promise.reject(new AppError('not_found', 'There is no such tenant.'));
          return Promise.resolve(tenantSettings({ retentionDays }));
        },
      },
      describeKeys: {
        callers: ['analytics'],
        handle: ({ tenantId, ...wanted }) =>
          this.tenantServiceIsAway
            ? Promise.reject(new AppError('service_unavailable', 'The tenant service is away.'))
            : Promise.resolve({ keys: described(this.apiKeys.get(tenantId), wanted) }),
      },
      describeTenants: {
        callers: ['analytics'],
        handle: ({ ids, slug }) =>
          this.tenantServiceIsAway
            ? Promise.reject(new AppError('service_unavailable', 'The tenant service is away.'))
            : Promise.resolve({
                tenants:
                  slug === undefined
                    ? described(this.tenants, { ids })
                    : this.tenants.filter((tenant) => tenant.slug === slug),
              }),
      },
    });
    const server = (await peerServer('tenant', this.identity)).add(TenantServiceService, rpcs);
    await server.start();
    this.ground.onStop(() => server.stop());
    this.#tenantAddress = `127.0.0.1:${server.port}`;
  }

  async #startAgentService(): Promise<void> {
    const rpcs = someRpcs(AgentServiceService, {
      describeAgents: {
        callers: ['analytics'],
        handle: ({ tenantId, onlyVisible, userId, ...wanted }) => {
          const agents = (this.agents.get(tenantId) ?? []).filter(
            ({ privateOf = userId }) => !onlyVisible || privateOf === userId,
          );
          return this.agentServiceIsAway
            ? Promise.reject(new AppError('service_unavailable', 'The agent service is away.'))
            : Promise.resolve({ agents: described(agents, wanted) });
        },
      },
    });
    const server = (await peerServer('agent', this.identity)).add(AgentServiceService, rpcs);
    await server.start();
    this.ground.onStop(() => server.stop());
    this.#agentAddress = `127.0.0.1:${server.port}`;
  }
}

/** The items with these ids, or with a key or name that begins with the prefix. */
function described<Item extends { id: string; key?: string; name: string }>(
  items: Item[] = [],
  { ids, namePrefix }: { ids: readonly string[]; namePrefix?: string | undefined },
): Item[] {
  if (namePrefix === undefined) return items.filter(({ id }) => ids.includes(id));
  const begins = (text: string): boolean => text.toLowerCase().startsWith(namePrefix.toLowerCase());
  return items.filter(({ key = '', name }) => begins(key) || begins(name));
}

/** A run id of that long ago. */
export function idAt(daysAgo: number): string {
  const time = Math.round(Date.now() - daysAgo * dayMs)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
}

/** The start of a run, that long ago, with its text. */
export function startOf(fields: Partial<RunStarted> & { tenant_id: string }, daysAgo = 0): RunStarted {
  const startedAt = new Date(Date.now() - daysAgo * dayMs).toISOString();
  return makeStart({
    run_id: idAt(daysAgo),
    input_preview: 'the question',
    started_at: startedAt,
    ...fields,
  });
}

/** The end of a run, a second after its start: an error without a price, so that there are rows and texts of all kinds. */
export function endOf(start: RunStarted): RunEnded {
  return makeEnd({
    ...start,
    status: 'error',
    ended_at: new Date(Date.parse(start.started_at) + 1_000).toISOString(),
    error_type: 'upstream_error',
    error_message: 'the complaint',
    output_preview: 'the answer',
    cost_pico: '1000000',
    priced: false,
  });
}
