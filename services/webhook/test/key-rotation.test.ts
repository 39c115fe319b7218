import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { testRewrapJob } from '@gatehouse/test/rewrap-job';
import { callTexts, type CallTexts } from '../src/calls/call-texts.ts';
import { placeOf } from '../src/channels/channel.ts';
import { channelTexts } from '../src/conversations/channel-texts.ts';
import { sealedColumns } from '../src/sealed-columns.ts';
import { newStandardSecret } from '../src/signatures/signing-secret.ts';
import { webhookSecrets } from '../src/secrets/webhook-secrets.ts';
import { WebhookServiceUnderTest } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
});
afterAll(() => webhooks.stop());

it('secrets move to a new key, and then need the old one no more', async () => {
  const tenant = webhooks.makeTenant();
  const endpoint = await webhooks.makeEndpoint(tenant);
  const as = tenant.admin;
  const rotated = await webhooks.call('POST', `/v1/webhooks/endpoints/${endpoint.id}/rotate-secret`, {
    ...{ as, body: { overlap_seconds: 600 } },
  });
  const body = { url: 'https://93.184.215.14/', event_types: ['run.failed'] };
  const subscription = await webhooks.call('POST', '/v1/webhooks/subscriptions', { as, body });

  const channel = await webhooks.call('POST', '/v1/channels/instances', {
    as,
    body: { name: 'Support', agent_id: tenant.agentId, type: 'generic', config: { callback_url: body.url } },
  });

  // Each replaces its secret, and keeps the old one for a time.
  const next = {
    endpoint: newStandardSecret(),
    subscription: newStandardSecret(),
    channel: newStandardSecret(),
  };
  const patch = (path: string, fields: object) => webhooks.call('PATCH', path, { as, body: fields });
  await patch(`/v1/webhooks/endpoints/${endpoint.id}`, { callback_secret: next.endpoint });
  await patch(`/v1/webhooks/subscriptions/${subscription.body.id}`, { secret: next.subscription });
  await patch(`/v1/channels/instances/${channel.body.id}`, { credentials: { secret: next.channel } });

  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  const app = createPool({ url, role: 'webhook_app', max: 1, log });
  const system = createPool({ url, role: 'webhook_system', max: 1, log });
  const added = newKeyRing('added');
  const ring = KeyRing.parse(`${added},${webhooks.identity.keyRing}`);
  const of = { service: 'webhook', columns: sealedColumns, app, system };
  const { left, rewrapAll } = testRewrapJob({ ...of, keyRing: ring });
  expect(await left()).toEqual({ endpoints: 4, subscriptions: 2, channel_instances: 2 });
  await rewrapAll();
  expect(await left()).toEqual({});

  const fresh = webhookSecrets(KeyRing.parse(added));
  const [row] = await webhooks.rows<
    Record<'secret' | 'previous_secret' | 'callback_secret' | 'previous_callback_secret', Buffer>
  >(
    `select secret, previous_secret, callback_secret, previous_callback_secret
     from webhook.endpoints where id = $1`,
    [endpoint.id],
  );
  const place = { tenantId: tenant.id, table: 'endpoints', id: endpoint.id } as const;
  const opened = (column: 'secret' | 'callback_secret', sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open({ ...place, column }, sealed);
  expect(opened('secret', row?.secret)).toBe(rotated.body.secret);
  expect(opened('secret', row?.previous_secret)).toBe(endpoint.secret);
  expect(opened('callback_secret', row?.callback_secret)).toBe(next.endpoint);
  expect(opened('callback_secret', row?.previous_callback_secret)).toBe(endpoint.callback_secret);
  const [other] = await webhooks.rows<Record<'secret' | 'previous_secret', Buffer>>(
    'select secret, previous_secret from webhook.subscriptions where id = $1',
    [subscription.body.id],
  );
  const ofSubscription = { tenantId: tenant.id, table: 'subscriptions', id: subscription.body.id } as const;
  const openedOther = (sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open({ ...ofSubscription, column: 'secret' }, sealed);
  expect(openedOther(other?.secret)).toBe(next.subscription);
  expect(openedOther(other?.previous_secret)).toBe(subscription.body.secret);

  const [third] = await webhooks.rows<Record<'credentials' | 'previous_credentials', Buffer>>(
    'select credentials, previous_credentials from webhook.channel_instances where id = $1',
    [channel.body.id],
  );
  const openedThird = (sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open(placeOf({ tenantId: tenant.id, id: channel.body.id }), sealed);
  expect(openedThird(third?.credentials)).toBe(JSON.stringify({ secret: next.channel }));
  expect(openedThird(third?.previous_credentials)).toBe(JSON.stringify({ secret: channel.body.secret }));

  // Without the old key, what it has encrypted stays as it is, and is logged.
  await webhooks.makeEndpoint(tenant);
  await testRewrapJob({ ...of, keyRing: KeyRing.parse(added) }).rewrapAll();
  expect(await left()).toEqual({ endpoints: 2 });
  await Promise.all([app.end(), system.end()]);
});

it('calls, turns and messages move to a new key too', async () => {
  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  const app = createPool({ url, role: 'webhook_app', max: 1, log });
  const system = createPool({ url, role: 'webhook_system', max: 1, log });
  const old = KeyRing.parse(webhooks.identity.keyRing);
  const added = newKeyRing('added');
  const row = { tenantId: newId(), id: newId() };
  const [calls, texts] = [callTexts(old), channelTexts(old)];
  const out = { tenantId: row.tenantId, id: newId() };
  const piece = { text: 'An answer.', plainText: 'An answer.' };
  const result = { answer: 'Yes.' } as unknown as Parameters<CallTexts['sealResult']>[1];
  // References don't matter here.
  await webhooks.rows('set session_replication_role = replica');
  await webhooks.rows('delete from webhook.endpoints');
  await webhooks.rows(
    `insert into webhook.calls (id, tenant_id, endpoint_id, agent_id, body_sha256, mode, status, metadata, request, result, expires_at)
     values ($1, $2, $1, $1, $3, 'async', 'running', '{}', $4, $5, now() + interval '30 days')`,
    [row.id, row.tenantId, Buffer.alloc(32), calls.requests.seal(row, '{}'), calls.sealResult(row, result)],
  );
  await webhooks.rows(
    `insert into webhook.channel_turns (id, tenant_id, conversation_id, user_id, agent_id, request, has_attachment)
     values ($1, $2, $1, 'ann', $1, $3, false)`,
    [row.id, row.tenantId, texts.requests.seal(row, '{}')],
  );
  const message = `insert into webhook.channel_messages
    (id, tenant_id, instance_id, conversation_id, direction, text, text_bytes, status, expires_at)
    values ($1, $2, $1, $1, $3, $4, 1, 'sent', now() + interval '30 days')`;
  await webhooks.rows(message, [row.id, row.tenantId, 'in', texts.messages.seal(row, 'Hello?')]);
  await webhooks.rows(message, [out.id, out.tenantId, 'out', texts.sealPiece(out, piece)]);
  await webhooks.rows('set session_replication_role = origin');

  const keyRing = KeyRing.parse(`${added},${webhooks.identity.keyRing}`);
  const { left, rewrapAll } = testRewrapJob({
    service: 'webhook',
    columns: sealedColumns,
    app,
    system,
    keyRing,
  });
  expect(await left()).toMatchObject({ calls: 2, channel_turns: 1, channel_messages: 2 });
  await rewrapAll();
  expect(await left()).toEqual({});
  const fresh = KeyRing.parse(added);
  const one = async (column: string, table: string, id: string): Promise<Buffer> => {
    const [found] = await webhooks.rows<{ value: Buffer }>(
      `select ${column} as value from webhook.${table} where id = $1`,
      [id],
    );
    return found?.value ?? Buffer.of();
  };
  const [callsNow, textsNow] = [callTexts(fresh), channelTexts(fresh)];
  expect(callsNow.requests.open(row, await one('request', 'calls', row.id))).toBe('{}');
  expect(callsNow.openResult(row, await one('result', 'calls', row.id))).toEqual(result);
  expect(textsNow.requests.open(row, await one('request', 'channel_turns', row.id))).toBe('{}');
  expect(textsNow.messages.open(row, await one('text', 'channel_messages', row.id))).toBe('Hello?');
  expect(textsNow.openPiece(out, await one('text', 'channel_messages', out.id))).toEqual(piece);
  await Promise.all([app.end(), system.end()]);
});
