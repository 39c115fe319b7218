import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { Pool } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { Attempt, BudgetCharge } from '../src/runs/run.ts';
import { insertInstance } from '../src/recording/instance-system-store.ts';
import { correctEnds } from '../src/recording/run-end-system-store.ts';
import type { EndRow, StartRow } from '../src/recording/run-rows.ts';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';
import { endRun, startRuns } from './logged-runs.ts';
import { reap } from './reap.ts';
import { callAgain, ended, start } from './run-rows.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

/** Each provider call is charged to the budgets in which it was reserved, in the windows of its reservation. */

const subjectId = newId();
const yesterday = [{ subjectId, windowStart: 1_700_000_000_000 }];
const today = [{ subjectId, windowStart: 1_700_086_400_000 }];

describe('a turn with a call before midnight and one after it', () => {
  let database: SystemDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createSystemDatabase();
    pool = database.pool;
  });
  afterAll(async () => database.drop());

  const answered = ({ attempt }: StartRow, costPico: bigint): Attempt => ({
    ...attempt,
    ...{ status: 'ok', offsetMs: 0, durationMs: 1, timeToFirstTokenMs: 1, httpStatus: 200 },
    ...{ errorCode: null, responseModel: null, usage: noUsage },
    cost: { costPico, source: 'catalogue', version: 'v1' },
  });

  /** Both calls of a run of an instance of its own, the second one under way. */
  async function begin(charges: readonly BudgetCharge[] | null = yesterday) {
    const holder = newId();
    await insertInstance(pool, holder);
    const first: StartRow = { ...start(), charges };
    const log = await startRuns(pool, holder, [first]);
    const again = callAgain(first);
    const second = {
      ...again,
      attempt: { ...again.attempt, charges: today },
      ended: [answered(first, 5n)],
    };
    await log.start(second);
    const exact: EndRow = { ...ended(first, 12n), attempts: [...second.ended, answered(second, 7n)] };
    return { holder, exact, id: first.run.run_id };
  }

  async function costsOf(holder: string): Promise<(readonly [unknown, string])[]> {
    const { rows } = await pool.query<{ charges: unknown; cost: string }>(
      `select charges::json as charges, sum(cost_pico)::text as cost from chat.run_costs as c
       where holder_id = $1 group by c.charges order by c.charges`,
      [holder],
    );
    return rows.map(({ charges, cost }) => [charges, cost] as const);
  }

  it('charges both days when it ends', async () => {
    const { holder, exact } = await begin();
    await endRun(exact);
    expect(await costsOf(holder)).toEqual([
      [yesterday, '5'],
      [today, '7'],
    ]);
  });

  it('charges both days when its process has died', async () => {
    const { holder } = await begin();
    await reap(pool, holder);
    // Ten tokens at 2 USD per million for the call under way.
    expect(await costsOf(holder)).toEqual([
      [yesterday, '5'],
      [today, '20000000'],
    ]);
  });

  it('charges no day before a budget was set', async () => {
    const { holder } = await begin(null);
    await reap(pool, holder);
    expect(await costsOf(holder)).toEqual([[today, '20000000']]);
  });

  it('corrects the day of each call when its process was not dead', async () => {
    const { holder, exact, id } = await begin();
    await reap(pool, holder);
    expect(await correctEnds(pool, [exact])).toEqual([id]);
    expect(await costsOf(holder)).toEqual([
      [yesterday, '5'],
      [today, '7'],
    ]);
  });

  it('corrects an estimate of the previous release, which was charged to the first day', async () => {
    const { holder, exact, id } = await begin();
    await reap(pool, holder);
    await pool.query(
      `with noted as (delete from chat.interrupted_runs where id = $1
         returning id, tenant_id, instance_id, started_at, charges, cost_pico)
       insert into chat.interrupted_runs (id, tenant_id, instance_id, started_at, charges, cost_pico)
       select id, tenant_id, instance_id, started_at, charges, cost_pico from noted`,
      [id],
    );
    await correctEnds(pool, [exact]);
    expect(await costsOf(holder)).toEqual([
      [yesterday, String(5 - 20_000_000)],
      [today, '20000007'],
    ]);
  });
});

it('a call after midnight is reserved and charged in the new window', async () => {
  const harness = await ChatHarness.start();
  try {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    harness.agents.set('worker', makeAgent({ key: 'worker', model: 'priced', tools: { maxIterations: 4 } }));
    harness.toolLists.tools = [
      {
        ...{
          name: 'orders__lookup',
          description: 'Looks up.',
          schemaJson: '{"type":"object"}',
          tool: 'lookup',
        },
        ...{ serverId: newId(), serverName: 'orders', timeoutMs: 5_000, executor: 'agent', repeatable: true },
      },
    ];
    harness.simulator.setFault({ tool_calls: [{ name: 'orders__lookup', arguments: {} }] });
    harness.callTool = (tool) => {
      harness.windowStart = 2n;
      return Promise.resolve({ content: `${tool} was called`, outcome: 'ok' });
    };
    const response = await harness.post(
      '/v1/chat/completions',
      chat('Where is it?', { model: 'agent:worker' }),
      {
        principal: { tenantId },
      },
    );
    expect(response.status).toBe(200);
    const { usage } = (await response.json()) as { usage: Record<string, number> };
    const settled = await eventually(() => {
      const own = harness.settlements.filter((settlement) => settlement.tenantId === tenantId);
      expect(own).toHaveLength(2);
      return own;
    });
    const byWindow = new Map(settled.map(({ charges, costPico }) => [charges[0]?.windowStart, costPico]));
    expect([...byWindow.keys()].toSorted()).toEqual([1n, 2n]);
    // 1 and 2 USD per million tokens.
    const whole = BigInt((usage['prompt_tokens'] ?? 0) + 2 * (usage['completion_tokens'] ?? 0)) * 1_000_000n;
    expect((byWindow.get(1n) ?? 0n) + (byWindow.get(2n) ?? 0n)).toBe(whole);
    expect(byWindow.get(1n)).toBeGreaterThan(0n);
    expect(byWindow.get(2n)).toBeGreaterThan(0n);
  } finally {
    await harness.stop();
  }
});
