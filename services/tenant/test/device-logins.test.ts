import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deviceGrant } from '@gatehouse/contract/device-logins';
import type { Service } from '@gatehouse/shell/service';
import { eventually } from '@gatehouse/test/eventually';
import { upToLimit } from '@gatehouse/test/minute';
import { mostDeviceLogins } from '../src/bounds.ts';
import { cookieOf, ownPage, type Sent } from './browser.ts';
import { newNetwork, Programs } from './programs.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const publicUrl = 'https://gateway.example.com';

let tenants: TenantServiceUnderTest;
let replica: Service;
let tenant: TestTenant;
let programs: Programs;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({ settings: { PUBLIC_URL: publicUrl, CLI_KEY_TTL: '2h' } });
  replica = await tenants.startReplica();
  tenant = await tenants.makeTenant();
  programs = new Programs(tenants, tenant);
});
afterAll(async () => {
  await replica.stop();
  await tenants.stop();
});

describe('a program', () => {
  it('gets a key with the rights of the session that confirmed it, once, by whatever replicas', async () => {
    const ada = await programs.person({ name: 'Ada', scopes: ['chat', 'agents.read'], user_id: 'ada' });
    const { httpPort: port } = replica;
    const started = await programs.start({ port });
    expect(await programs.poll(started)).toMatchObject({
      status: 400,
      body: { error: 'authorization_pending' },
    });
    expect((await programs.decide('allow', started.code, ada.cookie)).text).toContain('Allowed');
    await programs.passInterval();
    const polls = await Promise.all([programs.pollAtOnce(started), programs.pollAtOnce(started, { port })]);
    const [given] = polls.filter(({ status }) => status === 200);
    expect(given?.body).toEqual({
      ...{ access_token: expect.stringMatching(/^gwk_/), token_type: 'Bearer' },
      ...{ expires_in: expect.any(Number), scope: 'chat agents.read' },
    });
    expect(polls.map(({ body }) => body.error ?? '').toSorted()[1]).toMatch(/^(invalid_grant|slow_down)$/);
    expect(await programs.poll(started)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });

    const key = String(given?.body['access_token']);
    expect(await programs.principalOf(key)).toMatchObject({
      ...{ id: ada.id, tenantId: tenant.id, role: 'user', scopes: ['chat', 'agents.read'], userId: 'ada' },
    });
    const listed = await tenants.call('GET', `/v1/api-keys/${await programs.idOf(key)}`, {
      as: tenant.admin,
    });
    expect(listed.body).toMatchObject({
      name: 'Ada (program gatehouse)',
      created_by: ada.id,
      user_id: 'ada',
    });
    expect(await programs.changesOf(listed.body.id)).toEqual([`api_key.created by ${ada.id}`]);
    const lifeMs = Date.parse(listed.body.expires_at ?? '') - Date.now();
    expect(lifeMs).toBeGreaterThan(7_140_000);
    expect(lifeMs).toBeLessThanOrEqual(7_200_000);
  });

  it('starts and polls with JSON too, and learns where the person goes', async () => {
    const network = newNetwork();
    const answer = await programs.browse('/login/device', {
      body: { client_id: 'a', scope: 'x' },
      headers: {},
      network,
    });
    const body = JSON.parse(answer.text) as Record<string, string>;
    expect(body).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${publicUrl}/device`,
      verification_uri_complete: `${publicUrl}/device?user_code=${body['user_code']}`,
      ...{ expires_in: 600, interval: 5 },
    });
    const sent = { grant_type: deviceGrant, device_code: body['device_code'] };
    const polled = await programs.browse('/login/token', { body: sent, headers: {}, network });
    expect([polled.status, JSON.parse(polled.text)]).toMatchObject([400, { error: 'authorization_pending' }]);
    const stored = JSON.stringify(await tenants.rows('select * from tenant.device_logins'));
    expect(stored).not.toContain(body['device_code']);
    expect(stored).not.toContain(body['user_code']);
  });

  it('is slowed down when it polls early, without a write', async () => {
    const started = await programs.start();
    const fields = { grant_type: deviceGrant, device_code: started.device };
    await programs.poll(started);
    const polledAt = () =>
      tenants.rows('select polled_at from tenant.device_logins order by id desc limit 1');
    const before = await polledAt();
    const early = await programs.send('/login/token', fields, { network: started.network });
    expect(early).toMatchObject({ status: 400, body: { error: 'slow_down' } });
    expect(await polledAt()).toEqual(before);
    const many = await Promise.all(
      // In one minute or in two.
      Array.from({ length: 122 }, () => programs.send('/login/token', fields, { network: started.network })),
    );
    expect(many.map(({ body }) => body['error_description'])).toContain('Too many polls came too early.');
  });

  it('learns that the person denied it, and that its time is over', async () => {
    const { cookie } = await programs.person();
    const denied = await programs.start();
    expect((await programs.decide('deny', denied.code, cookie)).text).toContain('Denied');
    expect(await programs.poll(denied)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
    const late = await programs.start();
    await programs.decide('allow', late.code, cookie);
    await tenants.rows(`update tenant.device_logins set expires_at = now()`);
    expect(await programs.poll(late)).toMatchObject({ status: 400, body: { error: 'expired_token' } });
    expect((await programs.decide('allow', late.code, cookie)).status).toBe(404);
  });

  it.each([
    ['/login/device', {}, 'invalid_request'],
    ['/login/device', { client_id: 'a program' }, 'invalid_request'],
    ['/login/device', { client_id: 'x'.repeat(65) }, 'invalid_request'],
    ['/login/token', {}, 'invalid_request'],
    ['/login/token', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['/login/token', { grant_type: deviceGrant }, 'invalid_request'],
    ['/login/token', { grant_type: deviceGrant, device_code: 'wrong' }, 'invalid_grant'],
    ['/login/token', { grant_type: 'refresh_token' }, 'invalid_request'],
    ['/login/token', { grant_type: 'refresh_token', refresh_token: 'gwk_wrong' }, 'invalid_grant'],
    ['/login/revoke', {}, 'invalid_request'],
  ])('%s with %j gets %s', async (path, fields, code) => {
    const { status, body } = await programs.send(path, fields);
    expect([status, body]).toEqual([400, { error: code, error_description: expect.any(String) }]);
  });

  it.each([
    ['a repeated field', 'client_id=a&client_id=b', 'application/x-www-form-urlencoded', 400],
    ['a list', '[]', 'application/json', 400],
    ['no JSON', '{', 'application/json', 400],
    ['another type', 'client_id=a', 'text/plain', 415],
    ['a long form', `client_id=${'a'.repeat(5_000)}`, 'application/x-www-form-urlencoded', 413],
  ])('%s gets an error in the shape of OAuth', async (_name, text, type, status) => {
    const url = `http://127.0.0.1:${tenants.service.httpPort}/login/device`;
    const assertion = await (await tenants.identity.signer('edge')).anonymous('login.device');
    const headers = { 'x-gatehouse-assertion': assertion, 'content-type': type };
    const answer = await fetch(url, { method: 'POST', headers, body: text });
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { error: 'invalid_request', error_description: expect.any(String) },
    ]);
  });

  it('starts and polls on after a hundred requests of its network that prove nothing, of whatever kind', async () => {
    const network = newNetwork();
    const started = await programs.start({ network });
    const fields = { grant_type: deviceGrant, device_code: started.device };
    await programs.poll(started, { network });
    for (const wrong of [fields, { ...fields, device_code: 'a'.repeat(43) }])
      await Promise.all(Array.from({ length: 70 }, () => programs.send('/login/token', wrong, { network })));
    await Promise.all(
      Array.from({ length: 70 }, () => programs.renew(`${tenant.adminKey.slice(0, 21)}wrong`, { network })),
    );
    const another = await programs.start({ network });
    expect(await programs.poll(another, { network })).toMatchObject({
      body: { error: 'authorization_pending' },
    });
    const early = await programs.pollAtOnce(another, { network });
    expect([early.status, early.body.error]).toEqual([400, 'slow_down']);
  });

  it('waits beside 99 others of its network at most, on all replicas together', async () => {
    const network = '2001:db8:7:7::1';
    const fill = `insert into tenant.device_logins
        (id, device_sha256, user_sha256, client_id, network, expires_at)
      select gen_random_uuid(), sha256((n || 'net')::bytea), sha256((n || 'net')::bytea), 'net', $1,
        now() + interval '1 minute' from generate_series(1, $2::int) as n`;
    await tenants.rows(fill, ['2001:db8:7:7::/64', mostDeviceLogins.ofNetwork - 1]);
    const start = (from: string, port?: number) =>
      programs.send(
        '/login/device',
        { client_id: 'a' },
        { network: from, ...(port !== undefined && { port }) },
      );
    // Replicas begin to count at the same time.
    const together = tenants.rows(`do $$ begin
      lock table tenant.device_logins in share mode; perform pg_sleep(1); end $$`);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, place) =>
        start(network, place % 2 === 0 ? replica.httpPort : undefined),
      ),
    );
    await together;
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 429)]);
    const refused = await start('2001:db8:7:7::2');
    expect([refused.status, refused.body.error, refused.headers.get('retry-after')]).toEqual([
      ...[429, 'slow_down'],
      '10',
    ]);
    expect(refused.body['error_description']).toMatch(/of your network/);
    expect((await start('2001:db8:7:8::1')).status).toBe(200);
    await tenants.rows(`update tenant.device_logins set decided_at = now() where client_id = 'net'`);
    expect((await start(network)).status).toBe(200);
  });

  describe('beside as many others as may wait', () => {
    const known = ['198.18.7.1', '198.18.8.1'];

    beforeAll(async () => {
      for (const network of known)
        await programs.logIn((await tenants.makeKey(tenant.admin)).key, undefined, network);
      await eventually(async () =>
        expect(
          await tenants.rows('select network from tenant.login_networks where network = any($1)', [known]),
        ).toHaveLength(2),
      );
    });
    beforeEach(() => tenants.rows('delete from tenant.device_logins'));
    afterAll(() => tenants.rows('delete from tenant.device_logins'));

    /** Logins of all places of one kind, of as many wide networks. */
    const fill = (kind: { isKnown: boolean; wideNetworks: number }) =>
      tenants.rows(
        `insert into tenant.device_logins
           (id, device_sha256, user_sha256, client_id, network, wide_network, is_known, expires_at)
         select gen_random_uuid(), sha256((n || $2::boolean::text)::bytea), sha256((n || $2::text)::bytea), 'many',
           'network ' || n, 'wide ' || n % $3, $2, now() + interval '1 minute'
         from generate_series(1, $1::int) as n`,
        [mostDeviceLogins[kind.isKnown ? 'ofKnown' : 'ofUnknown'], kind.isKnown, kind.wideNetworks],
      );
    const count = async (isKnown: boolean) => {
      const rows = await tenants.rows('select from tenant.device_logins where is_known = $1', [isKnown]);
      return rows.length;
    };

    it('gets a place that a wide network with more loses, also among networks that have logged in', async () => {
      const { ofKnown, ofUnknown } = mostDeviceLogins;
      for (const isKnown of [false, true]) await fill({ isKnown, wideNetworks: 20 });
      const started = [await programs.start({ network: known[0] ?? '' }), await programs.start()];
      expect([await count(true), await count(false)]).toEqual([ofKnown, ofUnknown]);
      for (const one of started)
        expect(await programs.poll(one)).toMatchObject({ body: { error: 'authorization_pending' } });
      const lost = await tenants.rows<{ count: number }>(
        `select count(*)::int as count from tenant.device_logins where client_id = 'many'
         group by is_known, wide_network order by count limit 3`,
      );
      expect(lost.map(({ count: left }) => left)).toEqual([499, 499, 500]);
    });

    it('waits beside 999 others of its network at most if that has logged in', async () => {
      const [network = ''] = known;
      await tenants.rows(
        `insert into tenant.device_logins (id, device_sha256, user_sha256, client_id, network, is_known, expires_at)
         select gen_random_uuid(), sha256((n || 'own')::bytea), sha256((n || 'own')::bytea), 'own', $1, true,
           now() + interval '1 minute' from generate_series(1, $2::int) as n`,
        [network, mostDeviceLogins.ofKnownNetwork - 1],
      );
      const start = () => programs.send('/login/device', { client_id: 'a' }, { network });
      expect([(await start()).status, (await start()).status]).toEqual([200, 429]);
    });

    it('gets 503 when others have as few, and takes no place of the other kind', async () => {
      await fill({ isKnown: false, wideNetworks: mostDeviceLogins.ofUnknown });
      await programs.start({ network: known[0] ?? '' });
      const full = await programs.send('/login/device', { client_id: 'a' });
      expect(full).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
      expect(full.headers.get('retry-after')).toBe('10');
      await fill({ isKnown: true, wideNetworks: mostDeviceLogins.ofKnown });
      const late = { network: known[1] ?? '' };
      expect((await programs.send('/login/device', { client_id: 'a' }, late)).status).toBe(503);
      const many = (change: string) => tenants.rows(`update tenant.device_logins set ${change}`);
      await many('decided_at = now()');
      await programs.start();
      await many('decided_at = null, expires_at = now()');
      await programs.start(late);
    });
  });
});

describe('the page for a code', () => {
  const page = (path: string, cookie?: string) =>
    programs.browse(path, {
      method: 'GET',
      headers: {},
      network: newNetwork(),
      ...(cookie !== undefined && { cookie }),
    });

  it('asks for a login first, and comes back with the code', async () => {
    const { code } = await programs.start();
    const sent = await page(`/device?user_code=${code}`);
    const location = `/login?return_to=${encodeURIComponent(`/device?user_code=${code}`)}`;
    expect([sent.status, sent.headers.get('location')]).toEqual([303, location]);
    const { key } = await tenants.makeKey(tenant.admin);
    const done = await programs.browse(location, { form: { key } });
    expect(done.headers.get('location')).toBe(`/device?user_code=${code}`);
    expect((await page(`/device?user_code=${code}`, cookieOf(done.headers))).text).toContain(code);
    expect((await page('/device')).headers.get('location')).toBe('/login?return_to=%2Fdevice');
  });

  it('shows the program, where it asked from and what the key may do, without scripts', async () => {
    const { cookie } = await programs.person({ name: '<i>Ada</i>', scopes: ['chat'], user_id: 'ada' });
    const fields = { client_id: '<script>' };
    const { body } = await programs.send('/login/device', fields, { network: '203.0.113.9' });
    const { text, headers } = await page(`/device?user_code=${String(body['user_code'])}`, cookie);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*frame-ancestors 'none'$/);
    for (const shown of ['&lt;script&gt;', '203.0.113.9, which is not', '&lt;i&gt;Ada', tenant.slug, 'chat'])
      expect(text).toContain(shown);
    expect(text).not.toMatch(/<script|<i>/);
  });

  it('takes a code as people type it, and bounds wrong ones', async () => {
    const { cookie } = await programs.person();
    const { code } = await programs.start();
    const typed = code.toLowerCase().replace('-', ' ');
    expect((await page('/device', cookie)).text).toContain('name="user_code"');
    expect((await page(`/device?user_code=${encodeURIComponent(typed)}`, cookie)).text).toContain(code);
    const network = newNetwork();
    const wrong = '/device?user_code=BBBB-BBBB';
    const statuses = await upToLimit(
      60,
      async () => (await programs.browse(wrong, { method: 'GET', cookie, network })).status,
    );
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([404]));
    expect(statuses.at(-1)).toBe(429);
  });

  /** Each attack: the change of the request. Without it, the request would allow the key. */
  const attacks: Record<string, [sent: (fields: Record<string, string>) => Sent, status: number]> = {
    'a form of another site': [() => ({ headers: { 'sec-fetch-site': 'cross-site' } }), 403],
    'a form of another host of the site': [() => ({ headers: { 'sec-fetch-site': 'same-site' } }), 403],
    'a form that is sent by hand': [() => ({ headers: { 'sec-fetch-site': 'none' } }), 403],
    'a form of another origin': [() => ({ headers: { origin: 'https://example.com' } }), 403],
    'no page': [() => ({ headers: {} }), 403],
    'a request without a session': [() => ({ cookie: '' }), 303],
    'a session that does not exist': [() => ({ cookie: `__Host-gatehouse=${'a'.repeat(43)}` }), 303],
    'a form without the session that saw it': [({ session: _, ...fields }) => ({ form: fields }), 200],
    'the session of another page': [
      (fields) => ({ form: { ...fields, session: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11' } }),
      200,
    ],
    'no decision': [({ decision: _, ...fields }) => ({ form: fields }), 200],
    'another code': [(fields) => ({ form: { ...fields, user_code: 'BBBB-BBBB' } }), 404],
    'JSON in place of the form': [(fields) => ({ form: undefined as never, body: fields }), 415],
    'a link': [() => ({ method: 'GET', headers: {} }), 200],
  };

  it.each(Object.entries(attacks))('%s confirms nothing', async (_name, [change, status]) => {
    const { cookie } = await programs.person();
    const started = await programs.start();
    const fields = { ...(await programs.formOf(started.code, cookie)), decision: 'allow' };
    const sent: Sent = { form: fields, headers: ownPage, cookie, network: newNetwork(), ...change(fields) };
    const isLink = sent.method === 'GET';
    if (isLink) delete sent.form;
    const path = isLink ? `/device?user_code=${started.code}` : '/device';
    expect((await programs.browse(path, sent)).status).toBe(status);
    expect((await programs.poll(started)).body.error).toBe('authorization_pending');
    expect((await programs.decide('allow', started.code, cookie)).text).toContain('Allowed');
  });

  it('takes one decision', async () => {
    const { cookie } = await programs.person();
    const started = await programs.start();
    const fields = await programs.formOf(started.code, cookie);
    const both = await Promise.all(
      ['allow', 'deny'].map((decision) =>
        programs.browse('/device', { form: { ...fields, decision }, cookie }),
      ),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404]);
  });

  it('takes 60 decisions of a key a minute, and those of others of its network', async () => {
    const network = newNetwork();
    const [one, other] = [await programs.person(), await programs.person()];
    const decide = async ({ cookie }: { cookie: string }, decision: string) => {
      const form = { ...(await programs.formOf((await programs.start()).code, cookie)), decision };
      return programs.browse('/device', { form, cookie, network });
    };
    await decide(one, 'deny');
    // A minute that is not over when the test is slow.
    await tenants.rows(
      `update tenant.refused_addresses set requests = requests + 58, minute = minute + interval '5 minutes'
       where address = $1`,
      [`program_decision ${one.id}`],
    );
    const shown = [await decide(one, 'allow'), await decide(one, 'allow'), await decide(one, 'deny')];
    expect([...shown, await decide(other, 'deny')].map(({ status }) => status)).toEqual([200, 429, 429, 200]);
    expect(shown[2]?.text).toContain('Too many decisions');
  });

  it('shows people of a suspended tenant no code', async () => {
    const other = await tenants.makeTenant();
    const cookie = await programs.logIn(other.adminKey);
    const started = await programs.start();
    await programs.decide('allow', started.code, cookie);
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${other.id}`, { body: { status: 'suspended' } });
    expect((await page('/device', cookie)).status).toBe(403);
    expect((await programs.poll(started)).body.error).toBe('access_denied');
  });
});
