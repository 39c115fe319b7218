import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { batchRows } from '../src/bounds.ts';
import { messageRetention } from '../src/conversations/message-retention-job.ts';
import { MessageStore } from '../src/conversations/message-store.ts';
import { makeChannel, messagesOf, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let app: Pool;
let system: Pool;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({}, { messageRetentionFirstMs: 0 });
  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  app = createPool({ url, role: 'webhook_app', max: 4, log });
  system = createPool({ url, role: 'webhook_system', max: 2, log });
});
afterAll(async () => {
  await Promise.all([app.end(), system.end()]);
  await webhooks.stop();
});

/** A channel of a new tenant: later ones have higher ids. */
const channelOfTenant = (): Promise<TestChannel> =>
  makeChannel(webhooks, webhooks.makeTenant(), {
    ...{ type: 'generic', config: { callback_url: 'https://receiver.example/' } },
  });
/** Stores `count` messages from `days` ago, which expire after 30 days by what was right then, and returns their ids. */
async function store({ id, tenant }: TestChannel, days: number, count = 1): Promise<string[]> {
  const rows = await webhooks.rows<{ id: string }>(
    `with c as (
       insert into webhook.conversations (id, tenant_id, instance_id, external_id, is_group)
       values (gen_random_uuid(), $1, $2, 'with-ann', false)
       on conflict (instance_id, external_id, is_group) do update set last_message_at = now() returning id)
     insert into webhook.channel_messages (id, tenant_id, instance_id, conversation_id, direction, text_bytes, status,
       created_at, expires_at)
     select gen_random_uuid(), $1, $2, id, 'in', 0, 'answered', now() - make_interval(days => $3),
       now() + make_interval(days => 30 - $3) from c, generate_series(1, $4) returning id`,
    [tenant.id, id, days, count],
  );
  return rows.map((row) => row.id);
}
const sweepWith = (daysOf: (tenantId: string) => Promise<number | null>) =>
  messageRetention({
    ...{ system, messages: new MessageStore(app), log: createLogger('test', 'silent') },
    ...{ tenants: { retention: { daysOf } }, retentionFirstMs: 0 },
  });
const idsOf = async ({ tenant }: TestChannel): Promise<string[]> => {
  const query = 'select id from webhook.channel_messages where tenant_id = $1 order by created_at';
  return (await webhooks.rows<{ id: string }>(query, [tenant.id])).map(({ id }) => id);
};

describe('messages of channels', () => {
  it('are deleted by the current retention of their tenant, also of a suspended one', async () => {
    const lowered = await channelOfTenant();
    await store(lowered, 3, batchRows + 1);
    const [newer] = await store(lowered, 1);
    const raised = await channelOfTenant();
    const stored = [...(await store(raised, 40)), ...(await store(raised, 3))];
    const suspended = await channelOfTenant();
    await store(suspended, 3);
    webhooks.tenant.settings.set(lowered.tenant.id, { retentionDays: 2 });
    webhooks.tenant.settings.set(suspended.tenant.id, { retentionDays: 2, status: 'suspended' });

    const replica = await webhooks.startReplica();
    await eventually(async () => expect(await idsOf(suspended)).toEqual([]));
    await replica.stop();
    expect((await messagesOf(webhooks, lowered)).map(({ id }) => id)).toEqual([newer]);
    expect(await idsOf(raised)).toEqual(stored);
  });

  it('are deleted with the turns that they are part of, for the retention that another tenant has', async () => {
    const [failing, short, later] = [
      await channelOfTenant(),
      await channelOfTenant(),
      await channelOfTenant(),
    ];
    const stays = await store(failing, 3);
    const [message] = await store(short, 3);
    await store(later, 3);
    await webhooks.rows(
      `with turn as (
         insert into webhook.channel_turns (id, tenant_id, conversation_id, user_id, agent_id, has_attachment)
         select $2, tenant_id, conversation_id, 'ann', $3, false from webhook.channel_messages where id = $1 returning id)
       update webhook.channel_messages set turn_id = turn.id, status = 'received' from turn
       where channel_messages.id = $1`,
      [message, newId(), short.tenant.agentId],
    );
    const daysOf = (tenantId: string): Promise<number | null> =>
      tenantId === failing.tenant.id ? Promise.reject(new Error('Broken.')) : Promise.resolve(1);
    const work = sweepWith(daysOf);
    work.start();
    await eventually(async () => expect(await idsOf(later)).toEqual([]));
    await work.stop();
    expect(await idsOf(short)).toEqual([]);
    expect(
      await webhooks.rows('select from webhook.channel_turns where tenant_id = $1', [short.tenant.id]),
    ).toEqual([]);
    expect(await idsOf(failing)).toEqual(stays);
  });

  it('stay in an outage of tenant, which one round asks once', async () => {
    const channels = [await channelOfTenant(), await channelOfTenant()];
    for (const channel of channels) await store(channel, 100);
    const daysOf = jest.fn<(tenantId: string) => Promise<number | null>>();
    daysOf.mockRejectedValue(new AppError('service_unavailable', 'Away.'));
    const work = sweepWith(daysOf);
    work.start();
    await eventually(() => expect(daysOf).toHaveBeenCalled());
    await work.stop();
    expect(daysOf).toHaveBeenCalledTimes(1);
    for (const channel of channels) expect(await idsOf(channel)).toHaveLength(1);
  });
});
