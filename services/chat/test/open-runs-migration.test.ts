import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { SchemaBefore } from '@gatehouse/test/schema-before';

const contraction = '0007_contract_open_runs.sql';

let schema: SchemaBefore;
beforeAll(async () => {
  schema = await SchemaBefore.create('chat', contraction);
});
afterAll(async () => schema.drop());

const ofOneRun = { id: newId(), tenantId: newId() };

it.each([
  [
    'is under way',
    `insert into chat.runs (id, tenant_id, instance_id, operation, channel, request_id, trace_id, span_id, api_key_id,
                            request_model, streamed)
     values ($1, $2, $2, 'chat', 'api', 'r', 't', 's', $2, 'm', false)`,
    `update chat.runs set status = 'ok', ended_at = now() where id = $1 and tenant_id = $2`,
  ],
  [
    'waits to be published',
    `insert into chat.outbox (run_id, tenant_id, type) values ($1, $2, 'gatehouse.run.ended')`,
    'delete from chat.outbox where run_id = $1 and tenant_id = $2',
  ],
])('the tables of runs stay while one %s', async (_state, make, undo) => {
  const values = [ofOneRun.id, ofOneRun.tenantId];
  await schema.client.query(make, values);
  await expect(schema.apply(contraction)).rejects.toThrow(/in progress or not yet published/);
  await schema.client.query(undo, values);
});

it('they are dropped once all events are published', async () => {
  await schema.apply(contraction);
  const { rows } = await schema.client.query(
    `select to_regclass('chat.runs') as runs, to_regclass('chat.open_runs')::text as open`,
  );
  expect(rows).toEqual([{ runs: null, open: 'chat.open_runs' }]);
});
