import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { ProviderServer, ZaloAccount, zaloHeaders } from '@gatehouse/test/channel-providers';
import { ConsentBrowser } from '@gatehouse/test/consent-browser';
import { makeChannel, messagesOf, postMessage, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

const oaId = '5550001';
const credentials = { app_secret: 'zalo-app-secret', oa_secret: 'zalo-oa-secret' };

let webhooks: WebhookServiceUnderTest;
let zalo: ZaloAccount;
let provider: ProviderServer;
let tenant: TestTenant;
let channel: TestChannel;

beforeAll(async () => {
  provider = await ProviderServer.start((call) => zalo.answer(call));
  webhooks = await WebhookServiceUnderTest.start({
    ZALO_API_URL: provider.url,
    ZALO_OAUTH_URL: provider.url,
    PUBLIC_URL: 'https://gateway.example.com',
  });
});
beforeEach(async () => {
  zalo = new ZaloAccount();
  tenant = webhooks.makeTenant();
  channel = await makeZaloChannel();
});
afterAll(async () => {
  await webhooks.stop();
  await provider.stop();
});

const makeZaloChannel = (config: object = {}) =>
  makeChannel(webhooks, tenant, { type: 'zalo_oa', config: { app_id: '777', ...config }, credentials });

async function makeLink(): Promise<string> {
  const path = `/v1/channels/instances/${channel.id}/zalo-oa/consent-links`;
  const { body } = await webhooks.call('POST', path, { as: tenant.admin, body: undefined });
  const url = new URL((body as unknown as { url: string }).url);
  return url.pathname + url.search;
}

/** Consents at Zalo to the account `chosen`, and comes back with `named`: the page that is shown then. */
async function consent(
  link: string,
  { chosen = oaId, named = chosen }: { chosen?: string; named?: string | null } = {},
): Promise<{ status: number; page: string }> {
  const port = webhooks.service.httpPort;
  const browser = new ConsentBrowser(webhooks.identity, {
    page: 'channels.zalo-oa.consent',
    begin: 'channels.zalo-oa.consent.begin',
    callback: 'channels.zalo-oa.callback',
  });
  const { location, cookie } = await browser.press(link, port);
  const query = new URLSearchParams(zalo.consent(location, chosen));
  if (named === null) query.delete('oa_id');
  else query.set('oa_id', named);
  const end = await browser.comeBack(`/v1/channels/zalo-oa/callback?${query.toString()}`, { port, cookie });
  return { status: end.status, page: await end.text() };
}

const getChannel = async () =>
  (await webhooks.call('GET', `/v1/channels/instances/${channel.id}`, { as: tenant.admin })).body;
const connectedTo = async (account: string) =>
  expect(await getChannel()).toMatchObject({
    status: 'connected',
    config: { app_id: '777', oa_id: account },
  });
const nothingIsStored = async (config: object = { app_id: '777' }) => {
  expect(await getChannel()).toMatchObject({ status: 'pending', config });
  expect(
    await webhooks.rows('select access_token, refresh_token from webhook.channel_instances where id = $1', [
      channel.id,
    ]),
  ).toEqual([{ access_token: null, refresh_token: null }]);
};

describe('the account of a consent', () => {
  it('is the one that Zalo names for the token, whether the browser names it or not', async () => {
    expect((await consent(await makeLink(), { named: null })).status).toBe(200);
    await connectedTo(oaId);
    const asked = provider.calls.filter(({ path }) => path === '/v2.0/oa/getoa');
    expect(asked.at(-1)?.headers['access_token']).toBe(zalo.accessToken);
  });

  it('may be a number that JavaScript can’t hold', async () => {
    zalo.accountAnswer = () => ({
      status: 200,
      body: '{"error":0,"message":"Success","data":{"oa_id":4318657068771012647}}',
    });
    expect((await consent(await makeLink(), { named: null })).status).toBe(200);
    await connectedTo('4318657068771012647');
  });

  it('is not the one that a browser makes up: nothing is stored, and the link stays good', async () => {
    const link = await makeLink();
    const forged = await consent(link, { named: '999' });
    expect(forged).toMatchObject({
      status: 400,
      page: expect.stringContaining('another Official Account than this browser named'),
    });
    await nothingIsStored();
    expect((await consent(link)).status).toBe(200);
    await connectedTo(oaId);
  });

  it('must be the one of the channel, whatever the browser says', async () => {
    channel = await makeZaloChannel({ oa_id: '999' });
    const link = await makeLink();
    for (const named of [oaId, '999', null]) {
      const { status, page } = await consent(link, { named });
      expect(status).toBe(400);
      expect(page).toContain('another Official Account than the channel is for');
      await nothingIsStored({ app_id: '777', oa_id: '999' });
    }
    expect((await consent(link, { chosen: '999' })).status).toBe(200);
    await connectedTo('999');
  });

  it.each([
    ['an outage', { status: 503, body: 'Service Unavailable' }, 'could not be reached'],
    ['a limit', { status: 200, body: { error: -32, message: 'Rate limit' } }, 'could not be reached'],
    ['a page', { status: 200, body: '<html></html>' }, 'could not be reached'],
    ['an error', { status: 200, body: { error: -216, message: 'Invalid token' } }, 'did not give access'],
    ['no account', { status: 200, body: { error: 0, data: {} } }, 'did not give access'],
  ])(
    'that can’t be asked for because of %s fails the consent, which can be repeated',
    async (_what, answer, text) => {
      const link = await makeLink();
      zalo.accountAnswer = () => answer;
      const failed = await consent(link);
      expect(failed).toMatchObject({ status: 400, page: expect.stringContaining(text) });
      expect(failed.page).toContain('Open the link again');
      await nothingIsStored();
      zalo.accountAnswer = new ZaloAccount().accountAnswer;
      expect((await consent(link)).status).toBe(200);
      await connectedTo(oaId);
    },
  );
});

describe('an event that was captured', () => {
  const capture = (sentAt: number) => {
    const body = JSON.stringify({
      ...{ app_id: '777', event_name: 'user_send_text', timestamp: String(sentAt) },
      ...{
        sender: { id: 'user-1' },
        recipient: { id: oaId },
        message: { msg_id: newId(), text: 'Xin chào' },
      },
    });
    return { body, headers: zaloHeaders({ app: '777', secret: credentials.oa_secret }, body) };
  };

  it('is not answered again by a channel that replaces a deleted one', async () => {
    channel = await makeZaloChannel({ oa_id: oaId });
    const event = capture(Date.now() - 3_600_000);
    // As if the channel had been there when it was sent.
    await webhooks.rows(
      `update webhook.channel_instances set created_at = now() - interval '1 day' where id = $1`,
      [channel.id],
    );
    expect((await postMessage(webhooks, channel.id, event)).body.status).toBe('accepted');
    expect((await postMessage(webhooks, channel.id, event)).body.status).toBe('duplicate');
    await webhooks.call('DELETE', `/v1/channels/instances/${channel.id}`, { as: tenant.admin });
    channel = await makeZaloChannel({ oa_id: oaId });
    const again = await postMessage(webhooks, channel.id, event);
    expect(again).toMatchObject({ status: 200, body: { status: 'ignored', message_id: null } });
    expect(await messagesOf(webhooks, channel, 'user-1')).toEqual([]);
    expect((await postMessage(webhooks, channel.id, capture(Date.now()))).body.status).toBe('accepted');
  });

  it('is known for as long as its signature is accepted, also with a time to come and a short retention', async () => {
    tenant = webhooks.makeTenant();
    webhooks.tenant.settings.set(tenant.id, { retentionDays: 1 });
    channel = await makeZaloChannel({ oa_id: oaId });
    const daysMs = 24 * 3_600_000;
    const sentAt = Date.now() + 2.9 * daysMs;
    const { body } = await postMessage(webhooks, channel.id, capture(sentAt));
    const [row] = await webhooks.rows<{ expiresAt: Date }>(
      'select expires_at as "expiresAt" from webhook.channel_message_keys where message_id = $1',
      [body.message_id],
    );
    expect(row?.expiresAt.getTime()).toBeLessThan(Date.now() + 8 * daysMs);
    expect(row?.expiresAt.getTime()).toBeGreaterThan(sentAt + 3 * daysMs);
  });
});
