import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { ConsentBrowser } from '@gatehouse/test/consent-browser';
import { eventually } from '@gatehouse/test/eventually';
import type { Service } from '@gatehouse/shell/service';
import { makeChannel, messagesOf, postMessage, type TestChannel } from './channels-under-test.ts';
import { ProviderServer, ZaloAccount, zaloHeaders } from '@gatehouse/test/channel-providers';
import { upToLimit } from '@gatehouse/test/minute';
import { ChannelStore } from '../src/channels/channel-store.ts';
import { TokenStore } from '../src/channels/providers/zalo/token-store.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

const oaId = '5550001';
const credentials = { app_secret: 'zalo-app-secret', oa_secret: 'zalo-oa-secret' };

let webhooks: WebhookServiceUnderTest;
let replica: Service;
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
  replica = await webhooks.startReplica();
});
beforeEach(async () => {
  zalo = new ZaloAccount();
  tenant = webhooks.makeTenant();
  channel = await makeChannel(webhooks, tenant, { type: 'zalo_oa', config: { app_id: '777' }, credentials });
});
afterAll(async () => {
  await replica.stop();
  await webhooks.stop();
  await provider.stop();
});

const consentPath = (id: string) => `/v1/channels/instances/${id}/zalo-oa/consent`;

/** A browser at one of the replicas. */
const browser = () =>
  new ConsentBrowser(webhooks.identity, {
    page: 'channels.zalo-oa.consent',
    begin: 'channels.zalo-oa.consent.begin',
    callback: 'channels.zalo-oa.callback',
  });
const openPage = (link: string) => browser().open(link, webhooks.service.httpPort);
const press = (link: string) => browser().press(link, webhooks.service.httpPort);

async function makeLink(): Promise<string> {
  const path = `/v1/channels/instances/${channel.id}/zalo-oa/consent-links`;
  const { status, body } = await webhooks.call('POST', path, { as: tenant.admin, body: undefined });
  expect(status).toBe(201);
  const url = new URL((body as unknown as { url: string }).url);
  expect(url.origin).toBe('https://gateway.example.com');
  return url.pathname + url.search;
}

const comeBack = (query: string, { cookie, port }: { cookie?: string; port?: number } = {}) =>
  browser().comeBack(`/v1/channels/zalo-oa/callback?${query}`, {
    port: port ?? webhooks.service.httpPort,
    ...(cookie !== undefined && { cookie }),
  });

async function connect(): Promise<void> {
  const { location, cookie } = await press(await makeLink());
  expect((await comeBack(zalo.consent(location, oaId), { cookie })).status).toBe(200);
}

const getChannel = async () =>
  (await webhooks.call('GET', `/v1/channels/instances/${channel.id}`, { as: tenant.admin })).body;

describe('the consent', () => {
  it('begins on one replica and ends on another; looking at the page uses nothing up', async () => {
    expect((await getChannel()).status).toBe('pending');
    const link = await makeLink();
    for (let look = 0; look < 3; look += 1) {
      const page = await openPage(link);
      const html = await page.text();
      expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(html).toContain('<dd>Support</dd>');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    }
    const { location, cookie } = await press(link);
    const { pathname, searchParams } = new URL(location);
    expect(pathname).toBe('/v4/oa/permission');
    expect(searchParams.get('redirect_uri')).toBe('https://gateway.example.com/v1/channels/zalo-oa/callback');
    const end = await comeBack(zalo.consent(location, oaId), { cookie, port: replica.httpPort });
    expect([end.status, await end.text()]).toEqual([200, expect.stringContaining('Connected')]);
    expect(await getChannel()).toMatchObject({ status: 'connected', config: { app_id: '777', oa_id: oaId } });
    expect((await openPage(link)).status).toBe(410);
  });

  it('begins only with a button that was pressed on its page', async () => {
    const link = await makeLink();
    const status = async (headers: Record<string, string>) =>
      (await browser().pressWith(link, webhooks.service.httpPort, headers)).status;
    expect(await status({})).toBe(410);
    expect(await status({ origin: 'null' })).toBe(410);
    expect(await status({ origin: 'https://gateway.example.com.evil.example' })).toBe(410);
    expect(await status({ origin: 'https://gateway.example.com' })).toBe(303);
  });

  it('is refused with a state of another browser, without one, a second time, and when it is over', async () => {
    const link = await makeLink();
    const { location, cookie } = await press(link);
    const query = zalo.consent(location, oaId);
    expect((await comeBack(query)).status).toBe(410);
    expect((await comeBack(query, { cookie: '__Host-gatehouse-consent=other' })).status).toBe(410);
    expect((await comeBack(query, { cookie })).status).toBe(200);
    expect((await comeBack(query, { cookie })).status).toBe(410);
    const late = await press(await makeLink());
    await webhooks.rows(`update webhook.consent_tickets set expires_at = now() where used_at is null`);
    expect((await comeBack(zalo.consent(late.location), { cookie: late.cookie })).status).toBe(410);
  });

  it('of several browsers by one link counts once, the first that succeeds', async () => {
    const link = await makeLink();
    const [one, other] = [await press(link), await press(link)];
    expect(one.cookie).not.toBe(other.cookie);
    const ends = await Promise.all(
      [one, other].map(({ location, cookie }) => comeBack(zalo.consent(location, oaId), { cookie })),
    );
    expect(ends.map(({ status }) => status).sort()).toEqual([200, 410]);
  });

  it('may be given again by the same link when Zalo has refused it', async () => {
    const link = await makeLink();
    const first = await press(link);
    const query = zalo.consent(first.location).replace(/code=\w+/, 'code=wrong');
    const refused = await comeBack(query, { cookie: first.cookie });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('did not give access'),
    ]);
    const second = await press(link);
    expect((await comeBack(zalo.consent(second.location), { cookie: second.cookie })).status).toBe(200);
  });

  it('is for the account of the channel', async () => {
    const patch = { config: { oa_id: '999' } };
    await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as: tenant.admin, body: patch });
    const { location, cookie } = await press(await makeLink());
    expect((await comeBack(zalo.consent(location, oaId), { cookie })).status).toBe(400);
    expect((await getChannel()).status).toBe('pending');
    const patched = await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, {
      ...{ as: tenant.admin, body: { config: { oa_id: null } } },
    });
    expect(patched.body).toMatchObject({ status: 'pending', config: { app_id: '777' } });
    const next = await press(await makeLink());
    const back = await comeBack(zalo.consent(next.location, oaId), { cookie: next.cookie });
    expect(back.status).toBe(200);
    expect((await getChannel()).config).toMatchObject({ oa_id: oaId });
  });

  it('is asked for with a key, by a link for a browser', async () => {
    const { status, body } = await webhooks.call('GET', consentPath(channel.id), { as: tenant.admin });
    const { authorization_url, state } = body as unknown as { authorization_url: string; state: string };
    expect(status).toBe(200);
    const url = new URL(authorization_url);
    const { location } = await press(url.pathname + url.search);
    expect(new URL(location).searchParams.get('state')).toBe(state);
    const other = webhooks.makeTenant().admin;
    expect((await webhooks.call('GET', consentPath(channel.id), { as: other })).status).toBe(404);
  });

  it('shows an end for an unknown ticket, and 429 to an address that guesses', async () => {
    const statuses = await upToLimit(
      60,
      async () => (await openPage(`${consentPath(channel.id)}?ticket=x`)).status,
    );
    expect(statuses[0]).toBe(410);
    expect(statuses.at(-1)).toBe(429);
    await webhooks.rows('delete from webhook.refused_addresses');
  });
});

const event = (fields: object, mac?: string) => {
  const timestamp = String(Date.now());
  const body = JSON.stringify({
    ...{ app_id: '777', event_name: 'user_send_text', timestamp },
    ...{
      sender: { id: 'user-1' },
      recipient: { id: oaId },
      message: { msg_id: newId(), text: 'Xin chào' },
    },
    ...fields,
  });
  const proof = zaloHeaders({ app: '777', secret: credentials.oa_secret }, body);
  return postMessage(webhooks, channel.id, {
    headers: mac === undefined ? proof : { 'x-zevent-signature': mac },
    body,
  });
};

describe('messages', () => {
  it('that were captured days ago are refused, whatever is still known of them', async () => {
    const statuses: number[] = [];
    for (const days of [-4, -2, 0, 4]) {
      const timestamp = String(Date.now() + days * 24 * 3_600_000);
      statuses.push((await event({ timestamp, recipient: { id: 'another' } })).status);
    }
    statuses.push((await event({ timestamp: undefined })).status);
    expect(statuses).toEqual([401, 200, 200, 401, 401]);
  });

  it('are answered by the token of the consent', async () => {
    await connect();
    expect((await event({})).status).toBe(200);
    await eventually(() =>
      expect(provider.bodies('/message/cs').at(-1)).toEqual({
        recipient: { user_id: 'user-1' },
        message: { text: 'echo: Xin chào' },
      }),
    );
    expect((await event({ event_name: 'oa_send_text' })).body.status).toBe('ignored');
    expect((await event({ recipient: { id: '123' } })).body.status).toBe('ignored');
    expect((await event({}, 'mac=00')).status).toBe(401);
  });

  it('go to the channel of their account, whichever URL of the app they come to', async () => {
    await connect();
    const first = channel;
    channel = await makeChannel(webhooks, tenant, {
      ...{ type: 'zalo_oa', config: { app_id: '777', oa_id: '5550002' }, credentials },
    });
    await event({});
    await eventually(async () => expect(await messagesOf(webhooks, first, 'user-1')).toHaveLength(2));
  });

  it('are answered after a refresh when the token has been replaced elsewhere; without one a new consent is needed', async () => {
    await connect();
    zalo.accessToken = 'replaced';
    await webhooks.rows(
      `update webhook.channel_instances set token_at = now() - interval '1 hour' where id = $1`,
      [channel.id],
    );
    await event({ message: { msg_id: newId(), text: 'refresh' } });
    await eventually(() => expect(JSON.stringify(provider.bodies('/message/cs'))).toContain('echo: refresh'));
    expect(zalo.refreshes).toBe(1);
    [zalo.accessToken, zalo.refreshToken] = ['revoked', 'revoked'];
    await webhooks.rows(
      `update webhook.channel_instances set token_at = now() - interval '1 hour' where id = $1`,
      [channel.id],
    );
    await event({ message: { msg_id: newId(), text: 'after the consent' } });
    await eventually(async () => expect((await getChannel()).status).toBe('needs_reauth'));
    await connect();
    await eventually(() =>
      expect(JSON.stringify(provider.bodies('/message/cs'))).toContain('echo: after the consent'),
    );
  });
});

const untilConnected = () =>
  eventually(async () => expect(await getChannel()).toMatchObject({ status: 'connected' }));
const refreshCalls = () => provider.calls.filter(({ body }) => body['grant_type'] === 'refresh_token').length;

it('two replicas refresh once, ahead of the expiry', async () => {
  await connect();
  const before = refreshCalls();
  await webhooks.rows('update webhook.channel_instances set refresh_due_at = now() where id = $1', [
    channel.id,
  ]);
  await eventually(() => expect(zalo.refreshes).toBe(1));
  await untilConnected();
  expect(refreshCalls() - before).toBe(1);
  // The provider counts a refresh before its tokens are stored.
  await eventually(async () => {
    const [row] = await webhooks.rows<{ hours: number }>(
      `select extract(epoch from refresh_due_at - now()) / 3600 as hours from webhook.channel_instances where id = $1`,
      [channel.id],
    );
    expect(Number(row?.hours)).toBeCloseTo(22.5, 0);
  });
});

describe('tokens', () => {
  let app: Pool;
  let store: TokenStore;
  const stored = async () => {
    const [row] = await webhooks.rows<{ token: Buffer; claim: string | null }>(
      'select access_token as token, refresh_claim as claim from webhook.channel_instances where id = $1',
      [channel.id],
    );
    return row;
  };
  const ref = () => ({ tenantId: tenant.id, id: channel.id });

  beforeAll(() => {
    app = createPool({
      url: webhooks.database.url,
      role: 'webhook_app',
      max: 5,
      log: createLogger('test', 'silent'),
    });
    store = new TokenStore(app);
  });
  afterAll(() => app.end());

  it('have one claim at a time, and none after a change of the account', async () => {
    await connect();
    await webhooks.rows('update webhook.channel_instances set refresh_due_at = now() where id = $1', [
      channel.id,
    ]);
    const claims = Array.from({ length: 10 }, () => newId());
    const claimed = await Promise.all(claims.map((claim) => store.claimRefresh(ref(), claim)));
    expect(claimed.filter((token) => token !== null)).toHaveLength(1);
    const body = { config: { oa_id: '999' } };
    await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as: tenant.admin, body });
    expect(await stored()).toEqual({ token: null, claim: null });
    const tokens = { accessToken: Buffer.from('a'), refreshToken: Buffer.from('b'), expiresInS: 3_600 };
    for (const claim of claims) expect(await store.refreshed(ref(), claim, tokens)).toBe(false);
  });

  it('that were replaced while a reply was under way do not end the connection', async () => {
    await connect();
    const old = (await stored())?.token ?? Buffer.alloc(0);
    expect(await store.refused(ref(), old)).toBe('lost');
    await webhooks.rows(
      `update webhook.channel_instances set token_at = now() - interval '1 hour' where id = $1`,
      [channel.id],
    );
    expect(await store.refused(ref(), old)).toBe('refresh');
    await eventually(() => expect(zalo.refreshes).toBe(1));
    await eventually(async () => expect((await stored())?.token.equals(old)).toBe(false));
    expect(await store.refused(ref(), old)).toBe('replaced');
    const channels = new ChannelStore(app);
    const connected = await channels.open(tenant.id, channel.id);
    if (connected === null) throw new Error('there is no channel');
    const state = { status: 'needs_reauth', status_reason: 'late' } as const;
    await channels.setState({ ...connected, accessToken: old }, state, () => Promise.resolve());
    await untilConnected();
    await channels.setState(connected, state, () => Promise.resolve());
    expect((await getChannel()).status).toBe('needs_reauth');
  });
});

it('a channel without a consent keeps its replies until there is one', async () => {
  channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'zalo_oa', config: { app_id: '777', oa_id: oaId }, credentials },
  });
  await event({ message: { msg_id: newId(), text: 'early' } });
  await eventually(async () =>
    expect(
      await webhooks.rows(
        `select from webhook.channel_messages where instance_id = $1 and status = 'queued'`,
        [channel.id],
      ),
    ).toHaveLength(1),
  );
  await sleep(1_500);
  expect((await getChannel()).status).toBe('pending');
  await connect();
  await eventually(() => expect(JSON.stringify(provider.bodies('/message/cs'))).toContain('echo: early'));
});
