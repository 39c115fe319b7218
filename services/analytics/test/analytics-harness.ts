import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import { Peer } from '@gatehouse/grpc/client';
import { GrpcServer } from '@gatehouse/grpc/server';
import type { Principal } from '@gatehouse/identity/principal';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { TenantServiceClient, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { Client } from 'pg';
import { loadConfig } from '../src/config.ts';
import { TenantRetention } from '../src/peers/tenant-retention.ts';
import { Retention } from '../src/retention/retention.ts';
import type { Service } from '@gatehouse/service/service';
import { createAnalyticsService, type AnalyticsOverrides } from '../src/service.ts';
import { makeEnd, makeStart, received } from './event-fixture.ts';

const log = createLogger('analytics-test', 'silent');
const dayMs = 86_400_000;

/** The analytics service with real sockets on every side, and a tenant service that answers what a test sets. */
export class AnalyticsHarness {
  readonly database: TestDatabase;
  readonly identity: TestIdentity;
  /** Days by tenant id; a tenant that is not here is unknown. */
  readonly retentionDays = new Map<string, number>();
  /** What the tenant service refuses to answer about a tenant with, by id. */
  readonly refusals = new Map<string, AppError>();
  /** Whether the tenant service can be reached. */
  tenantServiceIsAway = false;
  readonly #admin: Client;
  readonly #stops: (() => Promise<void> | void)[] = [];
  #service: Service | undefined;
  #chat: Peer<AnalyticsServiceClient> | undefined;
  #tenantAddress = '';

  private constructor(database: TestDatabase, identity: TestIdentity) {
    this.database = database;
    this.identity = identity;
    this.#admin = new Client({ connectionString: database.adminUrl });
  }

  /** Old traces are deleted when a test says so, or as `overrides` have it. */
  static async start(
    overrides: AnalyticsOverrides = { retentionTimes: { firstMs: dayMs } },
  ): Promise<AnalyticsHarness> {
    const harness = new AnalyticsHarness(await createTestDatabase('analytics'), await testIdentity());
    await harness.#admin.connect();
    await harness.#startTenantService();
    await harness.#startService(overrides);
    return harness;
  }

  /** Sends events as chat does when there is no Kafka. */
  async ingest(...events: (string | RunStarted | RunEnded)[]): Promise<void> {
    const source = 'gatehouse/chat';
    const texts = events.map((event) =>
      typeof event === 'string' ? event : received(event).payload.toString('utf8'),
    );
    await this.#chat?.call('ingest', { source, events: texts }, { deadlineMs: 5_000 });
  }

  /** What a GET answers to this principal. Throws unless it is 200. */
  async get(path: string, principal: Partial<Principal>): Promise<unknown> {
    const assertion = await this.identity.assertion(makePrincipal(principal));
    const url = `http://127.0.0.1:${this.#service?.httpPort ?? 0}${path}`;
    const response = await fetch(url, { headers: { 'x-gatehouse-assertion': assertion } });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return response.json();
  }

  /** What Prometheus is told. */
  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#service?.adminPort ?? 0}/metrics`)).text();
  }

  /** Rows as the superuser sees them. */
  async rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.#admin.query<Record<string, unknown>>(sql, values)).rows;
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
      await this.ingest({ ...run, run_id: young });
      await this.rows('update analytics.traces set id = $2, changed_at = ended_at where id = $1', [
        young,
        id,
      ]);
      ids.push(id);
    }
    return ids;
  }

  pool(role: string): Pool {
    const pool = createPool({ url: this.database.url, role, max: 4, log });
    this.#stops.push(() => pool.end());
    return pool;
  }

  /** One more replica's job, to be told when to sweep. */
  async retention(batchSize?: number): Promise<Retention> {
    const tenant = new Peer({
      peer: 'tenant',
      addresses: [this.#tenantAddress],
      stub: TenantServiceClient,
      signer: await this.identity.signer('analytics'),
    });
    this.#stops.push(() => tenant.close());
    return new Retention({
      pool: this.pool('analytics_system'),
      tenants: new TenantRetention(tenant),
      log,
      registry: createRegistry('analytics-test'),
      batchSize,
    });
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    for (const stop of this.#stops.splice(0).reverse()) await stop();
    await this.#admin.end();
    await this.database.drop();
  }

  async #startTenantService(): Promise<void> {
    const verifier = await Verifier.create(this.identity.publicKeys);
    const options = { service: 'tenant', host: '127.0.0.1', port: 0, verifier, log, drainTimeoutMs: 100 };
    const rpcs = tenantRpcs({
      getTenantSettings: {
        callers: ['analytics'],
        handle: ({ tenantId }) => {
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
    });
    const server = new GrpcServer(options).add(TenantServiceService, rpcs);
    await server.start();
    this.#stops.push(() => server.stop());
    this.#tenantAddress = `127.0.0.1:${server.port}`;
  }

  async #startService(overrides: AnalyticsOverrides): Promise<void> {
    const config = loadConfig({
      HOST: '127.0.0.1',
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      ADMIN_PORT: '0',
      LOG_LEVEL: 'silent',
      DRAIN_TIMEOUT_MS: '1000',
      DATABASE_URL: this.database.url,
      DATABASE_POOL: '4',
      TENANT_GRPC: this.#tenantAddress,
      ASSERTION_PRIVATE_KEY: this.identity.privateKey('analytics'),
      ASSERTION_PUBLIC_KEYS: this.identity.publicKeys,
    });
    const service = await createAnalyticsService(config, overrides);
    await service.start();
    this.#service = service;
    const chat = new Peer({
      peer: 'analytics',
      addresses: [`127.0.0.1:${service.grpcPort}`],
      stub: AnalyticsServiceClient,
      signer: await this.identity.signer('chat'),
    });
    this.#chat = chat;
    this.#stops.push(() => chat.close());
  }
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
