import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { KeyVerdict } from '@gatehouse/proto/chat/v1/chat';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import { testRewrapJob } from '@gatehouse/test/rewrap-job';
import { openGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { openCounterKey } from '@gatehouse/secrets/counter-key';
import { openProviderKey } from '@gatehouse/secrets/provider-key';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { sealedColumns } from '../src/sealed-columns.ts';
import { contextOfLogin } from '../src/sessions/login.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const text = 'sk-canary-5e1f0c7d2b9a';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;

beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());
beforeEach(() => {
  service.others.keyVerdict = { verdict: KeyVerdict.ACCEPTED };
});

const give = (fields: Record<string, unknown> = {}, as: As = tenant.admin) =>
  service.call('POST', '/v1/provider-keys', { as, body: { provider: 'openai', key: text, ...fields } });
const listed = async (as: As = tenant.admin) =>
  (await service.call('GET', '/v1/provider-keys', { as })).body.data;

describe('a key for a provider', () => {
  it('is stored sealed and never shown again', async () => {
    const given = await give({ models: ['gpt-4.1-mini'], user_id: 'ada' });
    expect(given.status).toBe(201);
    expect(given.headers.get('location')).toBe(`/v1/provider-keys/${given.body.id}`);
    expect(given.body).toEqual({
      ...{ id: given.body.id, provider: 'openai', prefix: 'sk-ca', models: ['gpt-4.1-mini'], user_id: 'ada' },
      ...{ created_at: expect.any(String), last_used_at: null, status: 'active' },
    });
    const [row] = await service.rows<{ text: string; key: Buffer }>(
      'select provider_keys::text as text, key from tenant.provider_keys where id = $1',
      [given.body.id],
    );
    const audit = await service.call('GET', `/internal/v1/owner/audit-log?tenant_id=${tenant.id}`);
    for (const shown of [given.body, await listed(), audit.body, row?.text])
      expect(JSON.stringify(shown)).not.toContain('canary');
    expect(JSON.stringify(audit.body)).toContain('provider_key.created');
    expect(row?.key.includes('canary')).toBe(false);
    const ring = KeyRing.parse(service.environment()['SECRETS_KEYRING'] ?? '');
    expect(openProviderKey(ring, { tenantId: tenant.id, id: given.body.id }, row?.key ?? Buffer.of())).toBe(
      text,
    );
    // It opens for its own row only.
    expect(() =>
      openProviderKey(ring, { tenantId: other.id, id: given.body.id }, row?.key ?? Buffer.of()),
    ).toThrow();
  });

  it('is checked by chat before it is stored', async () => {
    const before = await listed();
    const refusals = [
      [{ verdict: KeyVerdict.REFUSED }, 'invalid_value', 'key'],
      [{ verdict: KeyVerdict.UNKNOWN_PROVIDER }, 'invalid_value', 'provider'],
      [{ verdict: KeyVerdict.NO_KEYS }, 'invalid_value', 'provider'],
      [{ verdict: KeyVerdict.ACCEPTED, unknownModel: 'm' }, 'unknown_model', 'models'],
    ] as const;
    for (const [verdict, code, param] of refusals) {
      service.others.keyVerdict = verdict;
      const refused = await give({ models: ['m'] });
      expect(refused).toMatchObject({ status: 400, body: { error: { code, param } } });
      expect(JSON.stringify(refused.body)).not.toContain('canary');
    }
    expect(await listed()).toEqual(before);
    const [asked] = service.others.keyChecks.slice(-1);
    expect(asked).toMatchObject({ provider: 'openai', models: ['m'] });
    expect(asked?.sealed.includes('canary')).toBe(false);
    service.others.keyVerdict = { verdict: KeyVerdict.UNCHECKED };
    expect((await give()).status).toBe(201);
  });

  it.each([
    ['no key', { key: undefined }, 'key'],
    ['a short key', { key: 'short' }, 'key'],
    ['a key of two lines', { key: 'sk-12345678\nx' }, 'key'],
    ['no models', { models: [] }, 'models'],
    ['an unknown field', { name: 'x' }, 'name'],
  ])('of %s is refused', async (_name, fields, param) => {
    expect(await give(fields)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('is checked twenty times a minute and tenant at most, whatever comes of it', async () => {
    const own = await service.makeTenant();
    service.others.keyVerdict = { verdict: KeyVerdict.REFUSED };
    const before = service.others.keyChecks.length;
    for (let n = 0; n < 20; n += 1) await give({}, own.admin);
    // A minute that ended meanwhile would allow further ones.
    await service.rows(
      `update tenant.provider_key_checks set minute = date_trunc('minute', now() + interval '30 seconds'), checks = 20
       where tenant_id = $1`,
      [own.id],
    );
    const limited = await give({}, own.admin);
    expect(limited).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(service.others.keyChecks.length).toBe(before + 20);
    service.others.keyVerdict = { verdict: KeyVerdict.ACCEPTED };
    expect((await give({}, (await service.makeTenant()).admin)).status).toBe(201);
    await service.rows(
      `update tenant.provider_key_checks set minute = minute - interval '2 minutes' where tenant_id = $1`,
      [own.id],
    );
    expect((await give({}, own.admin)).status).toBe(201);
  });

  it('is checked twice at a time and tenant at most, and some wait', async () => {
    const own = await service.makeTenant();
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    service.others.keyGate = gate;
    const before = service.others.keyChecks.length;
    const giving = Array.from({ length: 12 }, () => give({}, own.admin));
    const refused = await Promise.race(giving);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    expect(service.others.keyChecks.length - before).toBeLessThanOrEqual(2);
    service.others.keyGate = undefined;
    open(undefined);
    const statuses = (await Promise.all(giving)).map(({ status }) => status);
    // Those that arrive while others end find room.
    expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(2);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
  });

  it('goes to chat with the settings of its tenant, and to no other service', async () => {
    const own = await service.makeTenant();
    const keyOf = async (fields = {}) => (await give(fields, own.admin)).body.id;
    const [first, second] = [await keyOf(), await keyOf({ provider: 'acme', user_id: 'ada', models: ['m'] })];
    const { providerKeys } = await service.settings(own.id);
    expect(providerKeys).toEqual([
      { id: second, provider: 'acme', models: ['m'], userId: 'ada', sealed: expect.any(Buffer) },
      { id: first, provider: 'openai', models: [], userId: undefined, sealed: expect.any(Buffer) },
    ]);
    expect((await service.settings(own.id, 'memory')).providerKeys).toEqual([]);
    expect((await service.settings((await service.makeTenant()).id)).providerKeys).toEqual([]);
  });

  it('is deleted by its own tenant alone, with its user, and no more than a hundred are kept', async () => {
    const own = await service.makeTenant();
    const { id } = (await give({}, own.admin)).body;
    const remove = (as: As) => service.call('DELETE', `/v1/provider-keys/${id}`, { as });
    expect((await remove(other.admin)).status).toBe(404);
    expect((await remove(own.admin)).status).toBe(204);
    expect((await remove(own.admin)).status).toBe(404);
    await give({ user_id: 'ada' }, own.admin);
    const kept = (await give({ user_id: 'bob' }, own.admin)).body.id;
    await service.call('DELETE', '/v1/users/ada/data', { as: own.admin });
    expect((await listed(own.admin)).map((key) => key.id)).toEqual([kept]);
    await service.rows(
      `insert into tenant.provider_keys (id, tenant_id, provider, key, prefix)
       select gen_random_uuid(), $1, 'p', 'x', 'p' from generate_series(1, 99)`,
      [own.id],
    );
    expect(await give({}, own.admin)).toMatchObject({ body: { error: { code: 'limit_reached' } } });
  });

  it('needs an admin, and that of a bound key is for its user', async () => {
    const user: As = { tenantId: tenant.id, tenantSlug: tenant.slug, role: 'user', keyId: newId() };
    expect((await give({}, user)).status).toBe(403);
    const bound = { ...tenant.admin, boundUser: 'ada', userId: 'ada' };
    expect(await give({}, bound)).toMatchObject({ status: 403, body: { error: { code: 'user_mismatch' } } });
    expect((await give({ user_id: 'ada' }, bound)).status).toBe(201);
  });
});

it('how a provider takes a key is noted, and that it begins to fail is reported once', async () => {
  const own = await service.makeTenant();
  const { id } = (await give({}, own.admin)).body;
  const chat = await service.peer('chat');
  const note = (refused: boolean) =>
    chat.call(
      'noteProviderKeys',
      {
        uses: [
          { id, refused },
          { id: newId(), refused },
        ],
      },
      { deadlineMs: 5_000 },
    );
  await note(false);
  expect(await listed(own.admin)).toEqual([
    expect.objectContaining({ id, status: 'active', last_used_at: expect.any(String) }),
  ]);
  await Promise.all([note(true), note(true)]);
  await note(true);
  expect(await listed(own.admin)).toEqual([expect.objectContaining({ id, status: 'failing' })]);
  await note(false);
  expect(await listed(own.admin)).toEqual([expect.objectContaining({ id, status: 'active' })]);
  await eventually(() => {
    const alerts = service.others.alertsOf(own.id, 'provider_key.failing');
    expect(alerts.map(({ data }) => data)).toEqual([
      { provider: 'openai', key: null, provider_key_id: id, prefix: 'sk-ca' },
    ]);
  });
  const memory = await service.peer('memory');
  await expect(memory.call('noteProviderKeys', { uses: [] }, { deadlineMs: 5_000 })).rejects.toThrow();
});

it('moves to a new key of the ring, and then needs the old one no more', async () => {
  const own = await service.makeTenant();
  await service.rows('delete from tenant.provider_keys');
  const { id } = (await give({}, own.admin)).body;
  const log = createLogger('test', 'silent');
  const pools = ['tenant_app', 'tenant_system'].map((role) =>
    createPool({ url: service.database.url, role, max: 1, log }),
  );
  const [app, system] = pools;
  if (app === undefined || system === undefined) throw new Error('no pools');
  const added = newKeyRing('added');
  const both = KeyRing.parse(`${added},${service.identity.keyRing}`);
  const { left, rewrapAll } = testRewrapJob({
    ...{ service: 'tenant', columns: sealedColumns, app, system, keyRing: both },
  });
  const old = KeyRing.parse(service.identity.keyRing);
  const policyId: string = (
    await service.call('POST', '/v1/policies', { as: own.admin, body: { name: 'sealed' } })
  ).body.id;
  const counterKey = async (ring: KeyRing): Promise<Buffer> => {
    const [row] = await service.rows<{ key: Buffer }>(
      'select counter_key as key from tenant.policies where id = $1',
      [policyId],
    );
    return openCounterKey(ring, { tenantId: own.id, policyId }, row?.key ?? Buffer.of());
  };
  const before = await counterKey(old);
  const auth = { type: 'bearer', token: 'of a server' };
  const check = { type: 'presidio', url: 'https://presidio.example.com', auth };
  const guardrail = { as: own.admin, body: { name: 'sealed', action: 'mask', check } };
  const guardrailId: string = (await service.call('POST', '/v1/guardrails', guardrail)).body.id;
  // Tokens of a login, which no tenant has.
  const loginId = newId();
  const kinds = ['id_token', 'refresh_token'] as const;
  const sealed = kinds.map((kind) =>
    sealedTexts(old, contextOfLogin).seal({ id: loginId, column: kind }, `a ${kind}`),
  );
  await service.rows(
    `insert into tenant.logins (id, issuer, iss, sub, id_token, refresh_token, expires_at) values ($1, 'i', 'i', 's', $2, $3, now() + interval '30 days')`,
    [loginId, ...sealed],
  );
  expect(await left()).toEqual({ provider_keys: 1, policies: 1, guardrails: 1, logins: 2 });
  await rewrapAll();
  expect(await left()).toEqual({});
  const [row] = await service.rows<{ key: Buffer }>('select key from tenant.provider_keys where id = $1', [
    id,
  ]);
  const fresh = KeyRing.parse(added);
  const [login] = await service.rows<Record<(typeof kinds)[number], Buffer>>(
    'select id_token, refresh_token from tenant.logins where id = $1',
    [loginId],
  );
  for (const kind of kinds)
    expect(
      sealedTexts(fresh, contextOfLogin).open({ id: loginId, column: kind }, login?.[kind] ?? Buffer.of()),
    ).toBe(`a ${kind}`);
  expect(openProviderKey(fresh, { tenantId: own.id, id }, row?.key ?? Buffer.of())).toBe(text);
  const [{ secrets } = { secrets: Buffer.of() }] = await service.rows<{ secrets: Buffer }>(
    'select secrets from tenant.guardrails where id = $1',
    [guardrailId],
  );
  expect(openGuardrailSecrets(fresh, { id: guardrailId }, secrets)).toEqual(auth);
  // The ids of counters stay.
  expect(await counterKey(fresh)).toEqual(before);
  await Promise.all(pools.map((pool) => pool.end()));
});
