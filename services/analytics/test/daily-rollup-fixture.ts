import { expect } from '@jest/globals';
import type { Received } from '@gatehouse/events/dead-letters';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { withTenantSnapshot } from '@gatehouse/pg/pool';
import { Client } from 'pg';
import { DailyRollupJob } from '../src/daily-rollups/daily-rollup-job.ts';
import type { PeriodParts } from '../src/usage/period-parts.ts';
import type { Period } from '../src/usage/period.ts';
import { readParts } from '../src/usage/rolled-days-pg-store.ts';
import type { SummaryRequest } from '../src/usage/summary.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { makeCall, makeEnd, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** Days before this one are over. */
export const today = Math.floor((Date.now() - 2 * hourMs) / dayMs) * dayMs;
export const firstDay = today - 4 * dayMs;

export const log = createLogger('test', 'silent');

/** The time zones of tenants, UTC by default; null while the tenant service is away. */
export const zones = new Map<string, string | null>();
export const zoneOf = (tenantId: string): Promise<string | null> => {
  const zone = zones.get(tenantId);
  return Promise.resolve(zone === undefined ? 'UTC' : zone);
};

export const zonesOfTenants = ['Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns', 'UTC'];

const agents = [null, newId(), newId()];
export const keys = [newId(), newId()];
export const pick = <Value>(values: readonly Value[], index: number): Value =>
  values[index % values.length] as Value;

/** A run of four days; `seed` decides on all of it. */
export function makeRun(tenantId: string, seed: number, from = firstDay): RunEnded {
  const unpriced = seed % 5 === 3;
  return makeEnd({
    tenant_id: tenantId,
    ended_at: new Date(from + ((seed * 7_919_777) % (4 * dayMs))).toISOString(),
    model: pick(['small', 'large', null], seed),
    agent_id: pick(agents, seed * 5 + 1),
    api_key_id: pick(keys, Math.floor(seed / 3)),
    user_id: pick(['ann', 'bob', null, 'eve'], seed * 7),
    client: pick(['codex', 'other', null], Math.floor(seed / 3)),
    session_id: pick(['one', null, 'two'], Math.floor(seed / 4)),
    groups: pick([['Berlin', 'Ops'], [], ['Ops']], Math.floor(seed / 2)),
    status: pick(['ok', 'ok', 'error', 'cancelled'] as const, seed),
    duration_ms: pick([null, 10, 35], seed),
    cost_pico: pick(['0', '999999999999', '1', null], seed),
    priced: !unpriced,
    usage_estimated: seed % 3 === 0,
    ...(unpriced && { spans: [makeCall({ model: pick(['lost', 'odd'], seed), cost_pico: null })] }),
    ...(seed % 7 === 0 && { own_key: true }),
  });
}

export const makeRuns = (tenantId: string, count: number, first = 0, from = firstDay): RunEnded[] =>
  Array.from({ length: count }, (_, index) => makeRun(tenantId, first + index, from));

export const eventsOf = (runs: readonly RunEnded[]): Received[] => runs.map((run) => received(run));

export const wholeDays = { from: new Date(firstDay - dayMs), to: new Date(today) };

/** Requests that rows of each kind serve, and some that none serves, for four days. */
export function requestsOf(from: number): readonly SummaryRequest[] {
  const whole = { from: new Date(from - dayMs), to: new Date(from + 4 * dayMs) };
  const odd = {
    from: new Date(from + 7 * hourMs + 20 * minuteMs),
    to: new Date(from + 2 * dayMs + 22 * hourMs + 47 * minuteMs),
  };
  return [whole, odd].flatMap((period) => requestsIn(period));
}

function requestsIn(period: Period): SummaryRequest[] {
  const request = { period, filter: noFilter, groupBy: [], timezone: 'UTC' };
  return [
    request,
    { ...request, groupBy: ['model', 'client'] },
    { ...request, groupBy: ['hour'] },
    { ...request, groupBy: ['day', 'provider'], timezone: 'Europe/Berlin' },
    { ...request, groupBy: ['day'], timezone: 'Asia/Kathmandu' },
    { ...request, groupBy: ['agent'] },
    { ...request, groupBy: ['agent', 'day'] },
    { ...request, groupBy: ['agent', 'day'], timezone: 'America/St_Johns' },
    { ...request, groupBy: ['model'], filter: { ...noFilter, agentId: agents[1] ?? null } },
    { ...request, groupBy: ['user'] },
    { ...request, groupBy: ['agent', 'day'], timezone: 'Asia/Kathmandu' },
    { ...request, groupBy: ['day', 'api_key'], timezone: 'Europe/Berlin', figures: 'costs' },
    { ...request, groupBy: ['user', 'month'], timezone: 'Europe/Berlin' },
    { ...request, groupBy: ['api_key', 'model'] },
    { ...request, groupBy: ['api_key'], figures: 'costs' },
    { ...request, figures: 'costs', filter: { ...noFilter, apiKeyId: keys[1] ?? null, model: 'small' } },
    { ...request, groupBy: ['session', 'agent'] },
    { ...request, groupBy: ['session'] },
    { ...request, groupBy: ['day', 'session'], timezone: 'America/St_Johns' },
    { ...request, groupBy: ['month', 'session'], figures: 'costs' },
    { ...request, filter: { ...noFilter, user: 'ann' } },
    { ...request, groupBy: ['group'] },
    { ...request, groupBy: ['day', 'group'], figures: 'costs', timezone: 'Europe/Berlin' },
    { ...request, groupBy: ['group', 'user', 'model'] },
    { ...request, groupBy: ['group', 'agent'] },
    { ...request, filter: { ...noFilter, group: 'ops' } },
    { ...request, groupBy: ['model'], filter: { ...noFilter, group: 'Berlin' }, timezone: 'Asia/Kathmandu' },
    { ...request, groupBy: ['session'], filter: { ...noFilter, group: 'Berlin' } },
  ] satisfies SummaryRequest[];
}

export const requests = requestsOf(firstDay);

/** A database, and jobs that settle days in it. */
export class SettlingGround {
  readonly fixture: IngestFixture;
  readonly usage: UsageStore;
  readonly admin: Client;

  private constructor(fixture: IngestFixture, admin: Client) {
    this.fixture = fixture;
    this.usage = fixture.stores.usage;
    this.admin = admin;
  }

  static async start(): Promise<SettlingGround> {
    const fixture = await startIngest();
    const admin = new Client({ connectionString: fixture.database.adminUrl });
    await admin.connect();
    return new SettlingGround(fixture, admin);
  }

  async stop(): Promise<void> {
    await this.admin.end();
    await this.fixture.stop();
  }

  /** The job of a replica. Its parts of days have `most` rows. */
  makeSettling(most = 40, least = 1): DailyRollupJob {
    return new DailyRollupJob({
      store: this.fixture.stores.dailyRollups,
      zones: { zoneOf },
      log,
      registry: createRegistry('test'),
      sizes: { least, most },
    });
  }

  /** The parts of the period of a request. */
  partsOf(tenantId: string, request: SummaryRequest): Promise<PeriodParts> {
    return withTenantSnapshot(this.fixture.reading, tenantId, (db) => readParts(db, tenantId, request));
  }

  async #setStates(from: string, to: string): Promise<void> {
    await this.admin.query('update analytics.settled_days set state = $2 where state = $1', [from, to]);
  }

  /** Compares the summaries of a tenant from settled days with those from the roll-ups of quarters of an hour. */
  async expectEqualFigures(tenantId: string, from = firstDay): Promise<void> {
    const own = requestsOf(from);
    const summarizeAll = () => Promise.all(own.map((request) => this.usage.summarize(tenantId, request)));
    const settled = await summarizeAll();
    await this.#setStates('settled', 'small');
    const others = await summarizeAll();
    await this.#setStates('small', 'settled');
    for (const [index, { groupBy, timezone }] of own.entries())
      expect({ groupBy, timezone, summary: settled[index] }).toEqual({
        groupBy,
        timezone,
        summary: others[index],
      });
  }

  async statesOf(tenantId: string): Promise<string[]> {
    const { rows } = await this.admin.query<{ state: string }>(
      'select state from analytics.settled_days where tenant_id = $1 order by day',
      [tenantId],
    );
    return rows.map(({ state }) => state);
  }

  /** Settled days whose sums differ from the runs that are counted, as at one moment. */
  async wrongDays(): Promise<unknown[]> {
    const { rows } = await this.admin.query<object>(
      `select tenant_id, day, kind, sums.requests, runs.requests as counted
       from analytics.settled_days
         cross join unnest(array['hour', 'agent', 'api_key', 'user', 'session', 'group']) as kinds (kind)
         cross join lateral (
           select coalesce(sum(requests), 0) as requests from analytics.settled_usage as own
           where own.tenant_id = settled_days.tenant_id and own.kind = kinds.kind and bucket >= day
             and bucket < day + interval '1 day') as sums
         cross join lateral (
           select coalesce(sum(requests), 0) as requests from analytics.usage as own
           where own.tenant_id = settled_days.tenant_id and bucket >= day and bucket < day + interval '1 day') as runs
       where state = 'settled' and sums.requests <> runs.requests and (kinds.kind <> 'session' or cut_hours = 24)
         and (kinds.kind <> 'group' or group_hours = 24)`,
    );
    return rows;
  }
}
