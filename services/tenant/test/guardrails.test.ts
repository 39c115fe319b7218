import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Guardrail } from '@gatehouse/contract/guardrails';
import { newId } from '@gatehouse/kit/ids';
import { openGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());

let made = 0;
const pii = { check: { type: 'pii' }, action: 'mask' };
const create = (body: Record<string, unknown> = {}, as: As = tenant.admin) =>
  service.call('POST', '/v1/guardrails', { as, body: { name: `g-${(made += 1)}`, ...pii, ...body } });
const call = (method: string, path: string, body?: unknown, as: As = tenant.admin) =>
  service.call(method, `/v1/guardrails/${path}`, { as, ...(body !== undefined && { body }) });
const asOwner = (method: string, path: string, body?: unknown) =>
  service.call(method, `/internal/v1/owner/guardrails${path}`, { ...(body !== undefined && { body }) });

/** The guardrail in an answer, by the contract. */
const guardrailIn = ({ body }: { body: unknown }) => body as Guardrail;

const nothing = { users: [], groups: [], agents: [], api_keys: [], models: [] };
const auth = { type: 'bearer', token: 'canary-7c1e' };
const presidio = { type: 'presidio', url: 'https://presidio.example.com/a', auth };
const model = { type: 'model', model: 'small', instructions: 'Insults.', labels: ['insult'] };

async function secretsOf(id: string): Promise<unknown> {
  const [row] = await service.rows<{ secrets: Buffer | null }>(
    'select secrets from tenant.guardrails where id = $1',
    [id],
  );
  const sealed = row?.secrets ?? null;
  return sealed === null
    ? null
    : openGuardrailSecrets(KeyRing.parse(service.identity.keyRing), { id }, sealed);
}

async function auditOf(tenantId: string): Promise<unknown[]> {
  const { body } = await service.call('GET', `/internal/v1/owner/audit-log?tenant_id=${tenantId}`);
  return body.data;
}

describe('a guardrail', () => {
  it('has defaults, is found by id and name, listed and audited', async () => {
    const created = await create({ name: 'contacts' });
    const { id } = guardrailIn(created);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`/v1/guardrails/${id}`);
    expect(created.body).toEqual({
      ...{ id, name: 'contacts', select: nothing, action: 'mask', except: [], message: null, enabled: true },
      on: ['system', 'user', 'tool_result', 'answer', 'tool_call'],
      check: { type: 'pii', types: ['email', 'phone', 'credit_card', 'iban'], regions: [] },
      ...{ unreadable: 'allow', on_error: 'closed', timeout_ms: 2_000, hold: null },
      ...{ created_at: expect.any(String), updated_at: expect.any(String) },
    });
    for (const name of [id, 'contacts'])
      expect(await call('GET', name)).toMatchObject({ status: 200, body: created.body });
    const list = await service.call('GET', '/v1/guardrails', { as: tenant.admin });
    expect(list.body.data).toContainEqual(created.body);
    expect((await call('GET', 'contacts', undefined, other.admin)).status).toBe(404);
    expect(await auditOf(tenant.id)).toContainEqual(
      expect.objectContaining({ action: 'guardrail.created', before: null, after: created.body }),
    );
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown member', { level: 1 }, 'level'],
    ['a name like an id', { name: newId() }, 'name'],
    ['an action that its check cannot do', { check: model, action: 'mask' }, 'action'],
    ['a text that its check does not read yet', { check: model, action: 'flag', on: ['answer'] }, 'on'],
    ['an action for another text', { action: 'substitute', on: ['user', 'answer'] }, 'on'],
    ['pieces for a built-in check', { hold: 200 }, 'hold'],
    ['no pattern', { check: { type: 'patterns' } }, 'check.patterns'],
    [
      'large exceptions',
      { except: Array.from({ length: 80 }, (_, i) => `${i}-${'x'.repeat(240)}`) },
      'except',
    ],
    [
      'too much to select',
      { select: { users: Array.from({ length: 80 }, (_, i) => `${i}${'u'.repeat(240)}`) } },
      'select',
    ],
    [
      'a large check',
      { check: { type: 'webhook', url: presidio.url, params: { a: 'x'.repeat(70_000) } } },
      'check',
    ],
    ['a host of its own', { check: { ...presidio, url: 'https://127.0.0.1/' } }, 'check.url'],
  ])('with %s is refused', async (_name, body, param) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it.each<[string, string, string]>([
    ['a back-reference', '(a)\\1', 'invalid_pattern'],
    ['no end in sight', 'a+b', 'pattern_unbounded'],
  ])('whose pattern has %s is refused', async (_name, regex, code) => {
    const body = { check: { type: 'patterns', patterns: [{ name: 'a', regex }] } };
    const refused = { status: 400, body: { error: { code, param: 'check.patterns[0].regex' } } };
    expect(await create(body)).toMatchObject(refused);
    const { id } = guardrailIn(await create());
    expect(await call('PATCH', id, body)).toMatchObject(refused);
    const held = await create({ ...body, hold: 'answer' });
    expect(held.status).toBe(code === 'pattern_unbounded' ? 201 : 400);
    expect(await asOwner('POST', '', { name: 'refused', ...pii, ...body })).toMatchObject(refused);
  });

  it('asks a model that its tenant can use', async () => {
    service.others.unusableModels.set(tenant.id, ['tiny']);
    expect(await create({ check: { ...model, model: 'tiny' }, action: 'flag' })).toMatchObject({
      ...{ status: 400, body: { error: { code: 'unknown_model', param: 'check.model' } } },
    });
    const created = await create({ check: model, action: 'flag' }, other.admin);
    expect(created).toMatchObject({ status: 201, body: { on_error: 'open', hold: 'answer', check: model } });
  });

  it('has a name of its own among those of its tenant', async () => {
    expect((await create({ name: 'taken' })).status).toBe(201);
    const taken = { status: 409, body: { error: { code: 'guardrail_name_taken', param: 'name' } } };
    expect(await create({ name: 'taken' })).toMatchObject(taken);
    expect((await create({ name: 'free' })).status).toBe(201);
    expect(await call('PATCH', 'free', { name: 'taken' })).toMatchObject(taken);
    expect((await create({ name: 'taken' }, other.admin)).status).toBe(201);
  });

  it('is changed in part, and its defaults follow the action and the check', async () => {
    const { id } = guardrailIn(await create({ select: { users: ['ada'] }, unreadable: 'block' }));
    const patched = await call('PATCH', id, { action: 'block', select: { models: ['gpt-*'] } });
    expect(patched).toMatchObject({
      status: 200,
      body: {
        action: 'block',
        on: ['system', 'user', 'tool_result', 'answer', 'tool_call'],
        unreadable: 'block',
      },
    });
    expect(guardrailIn(patched).select).toEqual({ ...nothing, users: ['ada'], models: ['gpt-*'] });
    expect(await call('PATCH', id, { action: 'flag', on: ['user'] })).toMatchObject({
      body: { on: ['user'], on_error: 'open' },
    });
    expect(await call('PATCH', id, { check: { type: 'pii', regions: ['DE'] } })).toMatchObject({
      body: { check: { types: ['email', 'phone', 'credit_card', 'iban'], regions: ['DE'] } },
    });
    expect(await call('PATCH', id, { check: { type: 'model', model: 'small' } })).toMatchObject({
      ...{
        status: 400,
        body: { error: { code: 'missing_required_parameter', param: 'check.instructions' } },
      },
    });
    expect(await call('PATCH', id, { check: model })).toMatchObject({
      body: { on: ['user'], hold: 'answer', check: model },
    });
    expect(await call('PATCH', id, { action: 'mask' })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'action' } } },
    });
    for (const path of [id, newId()])
      expect((await call('PATCH', path, { enabled: false }, other.admin)).status).toBe(404);
    expect((await call('DELETE', id, undefined, other.admin)).status).toBe(404);
    expect((await call('DELETE', id)).status).toBe(204);
    expect((await call('GET', id)).status).toBe(404);
  });

  it('changes nothing in a dry run', async () => {
    const dry = await service.call('POST', '/v1/guardrails?dry_run=true', {
      ...{ as: tenant.admin, body: { name: 'dry', ...pii } },
    });
    expect(dry).toMatchObject({ status: 201, body: { id: null, name: 'dry' } });
    expect((await call('GET', 'dry')).status).toBe(404);
    const { id } = guardrailIn(await create());
    const changed = await call('PATCH', `${id}?dry_run=true`, { enabled: false });
    expect(changed).toMatchObject({ status: 200, body: { enabled: false } });
    expect(await call('GET', id)).toMatchObject({ body: { enabled: true } });
  });
});

describe('credentials of a guardrail', () => {
  it('are stored sealed, shown nowhere, and stay with their host', async () => {
    const created = await create({ check: presidio, action: 'mask' });
    const { id, name } = guardrailIn(created);
    expect(created.body).toMatchObject({ check: { auth: { type: 'bearer', token_set: true } } });
    expect(await secretsOf(id)).toEqual(auth);
    const { auth: _, ...check } = presidio;
    const language = await call('PATCH', name, {
      check: { ...check, language: 'de', url: `${check.url}/b` },
    });
    expect(language).toMatchObject({ status: 200, body: { check: { auth: { token_set: true } } } });
    expect(await secretsOf(id)).toEqual(auth);
    const elsewhere = { ...check, url: 'https://elsewhere.example.com' };
    expect(await call('PATCH', id, { check: elsewhere })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'check.auth' } } },
    });
    const headers = { type: 'headers', headers: { 'x-api-key': 'canary-two' } };
    expect(await call('PATCH', id, { check: { ...elsewhere, auth: headers } })).toMatchObject({
      body: { check: { auth: { type: 'headers', headers: [{ name: 'x-api-key', set: true }] } } },
    });
    expect(await secretsOf(id)).toEqual(headers);
    expect(await call('PATCH', id, { check: { type: 'webhook', url: elsewhere.url } })).toMatchObject({
      ...{ status: 200, body: { check: { auth: { type: 'none' } } } },
    });
    expect(await secretsOf(id)).toBeNull();
    const rows = await service.rows('select guardrails::text as text from tenant.guardrails');
    const list = await service.call('GET', '/v1/guardrails', { as: tenant.admin });
    for (const shown of [rows, list.body, await auditOf(tenant.id)])
      expect(JSON.stringify(shown)).not.toContain('canary');
    await call('DELETE', id);
  });

  it('are not in an audit log, and neither are patterns', async () => {
    const { name } = guardrailIn(
      await create({
        except: ['canary-except'],
        check: { type: 'patterns', words: ['canary-word'], patterns: [{ name: 'a', regex: 'canary-regex' }] },
      }),
    );
    const entries = JSON.stringify(await auditOf(tenant.id));
    expect(entries).toContain(name);
    expect(entries).not.toContain('canary');
  });
});

describe('the number of guardrails', () => {
  it('is bounded, also of those that ask outside', async () => {
    const { admin } = await service.makeTenant();
    const outside = { check: { ...presidio, url: 'https://presidio.example.com' } };
    for (let index = 0; index < 4; index += 1) expect((await create(outside, admin)).status).toBe(201);
    const refused = { status: 403, body: { error: { code: 'limit_reached' } } };
    expect(await create(outside, admin)).toMatchObject(refused);
    for (let index = 4; index < 32; index += 1) expect((await create({}, admin)).status).toBe(201);
    expect(await create({}, admin)).toMatchObject(refused);
    const [last] = (await service.call('GET', '/v1/guardrails', { as: admin })).body.data;
    expect(await call('PATCH', last?.id ?? '', outside, admin)).toMatchObject(refused);
  });
});

describe('guardrails of the owner', () => {
  it('are seen by tenants as to who gets their texts, and changed by the owner alone', async () => {
    const check = { ...presidio, url: 'https://presidio.example.com/secret-path' };
    const created = await asOwner('POST', '', {
      ...{ name: 'platform', check, action: 'block', tenants: [tenant.id], except: ['hidden'] },
    });
    expect(created).toMatchObject({
      status: 201,
      body: { name: 'platform', tenants: [tenant.id], check: { url: check.url } },
    });
    const seen = await call('GET', 'owner:platform');
    expect(seen).toMatchObject({
      status: 200,
      body: {
        ...{ id: created.body.id, name: 'owner:platform', select: nothing, except: [] },
        check: { type: 'presidio', url: 'https://presidio.example.com', auth: { type: 'none' } },
      },
    });
    expect((await call('GET', created.body.id, undefined, other.admin)).status).toBe(404);
    for (const name of [created.body.id, 'owner:platform', 'platform']) {
      expect((await call('PATCH', name, { enabled: false })).status).toBe(404);
      expect((await call('DELETE', name)).status).toBe(404);
    }
    const words = { type: 'patterns', words: ['codename'], patterns: [] };
    expect(await asOwner('PATCH', '/platform', { check: words, tenants: null })).toMatchObject({
      status: 200,
    });
    expect(await call('GET', 'owner:platform', undefined, other.admin)).toMatchObject({
      body: { check: { type: 'patterns', words: [] } },
    });
    expect(await asOwner('POST', '', { name: 'u', ...pii, select: { users: ['ada'] } })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'select.users' } } },
    });
    expect((await asOwner('DELETE', '/platform')).status).toBe(204);
  });

  it('are eight at most', async () => {
    for (let index = 0; index < 8; index += 1)
      expect((await asOwner('POST', '', { name: `o-${index}`, ...pii })).status).toBe(201);
    expect(await asOwner('POST', '', { name: 'o-8', ...pii })).toMatchObject({ status: 403 });
    for (let index = 0; index < 8; index += 1) await asOwner('DELETE', `/o-${index}`);
  });
});
