import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

it('settlements that cannot be charged stay, and do not delay those of other tenants', async () => {
  const [stuck, other, holder] = [newId(), newId(), newId()];
  const left = (tenantId: string) =>
    harness.rows('select id from chat.settlements where tenant_id = $1', [tenantId]);
  harness.stuckTenants.add(stuck);
  const settlement = `insert into chat.settlements (id, tenant_id, holder_id, charges, cost_pico)`;
  await harness.rows(
    `${settlement} select gen_random_uuid(), $1, $2, '[]', 1 from generate_series(1, 2500)`,
    [stuck, holder],
  );
  // The last in the order of ids, so after more than two calls' worth of the others.
  const last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  await harness.rows(`${settlement} values ($1, $2, $3, '[]', 2)`, [last, other, holder]);
  await eventually(async () => expect(await left(other)).toEqual([]), 50_000);
  await harness.rows(
    `insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico) values ($1, $2, '[]', 3)`,
    [other, holder],
  );
  await eventually(() => {
    expect(harness.settlements).toContainEqual(expect.objectContaining({ tenantId: other, costPico: 3n }));
  });
  expect(await left(stuck)).toHaveLength(2_500);
  // A refund has a call of its own.
  await harness.rows(
    `insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico) values ($1, $2, '[]', -3)`,
    [other, holder],
  );
  await eventually(() => {
    expect(harness.settlements).toContainEqual(expect.objectContaining({ tenantId: other, costPico: -3n }));
  });
  harness.stuckTenants.clear();
  await eventually(async () => expect(await left(stuck)).toHaveLength(0), 50_000);
});

it('reports other instances whose heartbeats are fresh, so that they keep their slots', async () => {
  const [fresh, silent, dead] = [newId(), newId(), newId()];
  await harness.rows(
    `insert into chat.instances (id, heartbeat_at, dead_at)
     values ($1, now() + interval '1 minute', null), ($2, now() - interval '8 seconds', null),
            ($3, now() + interval '1 minute', now())`,
    [fresh, silent, dead],
  );
  await eventually(() => expect(harness.liveHolders).toContain(fresh));
  expect([...harness.liveHolders]).toEqual([fresh]);
});
