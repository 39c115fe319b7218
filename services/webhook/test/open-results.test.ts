import { expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { WebhookServiceUnderTest } from './webhook-service.ts';

it('the delivery of a call that has no result any more waits, and blames no receiver', async () => {
  const webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  const receiver = await Receiver.start();
  receiver.answer = () => ({ status: 500 });
  const tenant = webhooks.makeTenant();
  const endpoint = await webhooks.makeEndpoint(tenant, {
    mode: 'async',
    callback_url: receiver.url('/open'),
  });
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'open again' } });
  const pending = async () => {
    const [row] = await webhooks.rows<{ attempts: number; due: Date; claimed: Date | null }>(
      `select attempts, due_at as due, claimed_until as claimed from webhook.deliveries
       where call_id = $1 and status = 'pending'`,
      [body.call_id],
    );
    return row;
  };
  await eventually(async () => expect(await pending()).toMatchObject({ attempts: 1, claimed: null }));
  await webhooks.rows('update webhook.calls set finished_at = null where id = $1', [body.call_id]);
  const hurriedAt = new Date();
  await webhooks.rows(
    `with hurried as (update webhook.deliveries set due_at = now() where call_id = $1)
     update webhook_jobs.job set start_after = now() where name = 'deliver' and state = 'created'`,
    [body.call_id],
  );
  await eventually(async () => {
    const waiting = await pending();
    expect(waiting).toMatchObject({ attempts: 1, claimed: null });
    expect((waiting?.due.getTime() ?? 0) - hurriedAt.getTime()).toBeGreaterThan(3_000);
  });
  expect(receiver.at('/open')).toHaveLength(1);
  await webhooks.stop();
  await receiver.stop();
});
