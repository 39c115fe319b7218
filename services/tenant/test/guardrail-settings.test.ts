import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { groupEntry, groupNameEntry } from '@gatehouse/kit/selection-index';
import type { Guardrail } from '@gatehouse/proto/tenant/v1/tenant';
import { openGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { ScimClient } from './scim-client.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());

const pii = { check: { type: 'pii' }, action: 'mask' };

async function create(body: Record<string, unknown>, as = tenant): Promise<string> {
  const created = await service.call('POST', '/v1/guardrails', { as: as.admin, body: { ...pii, ...body } });
  expect(created.status).toBe(201);
  return created.body.id;
}

async function ofOwner(method: string, path: string, body?: object): Promise<string> {
  const sent = body === undefined ? {} : { body: { ...pii, ...body } };
  const answer = await service.call(method, `/internal/v1/owner/guardrails${path}`, sent);
  return answer.status === 204 ? '' : answer.body.id;
}

async function guardrailsOf(
  { id: tenantId }: TestTenant,
  caller: 'chat' | 'analytics' = 'chat',
): Promise<Guardrail[]> {
  const peer = await service.peer(caller);
  const request = { tenantId, withGuardrails: true };
  return (await peer.call('getTenantSettings', request, { deadlineMs: 5_000 })).guardrails;
}

async function changed(work: () => Promise<unknown>): Promise<string[]> {
  const edge = await service.peer('edge');
  const list = (position: string) => edge.call('listChanges', { position }, { deadlineMs: 5_000 });
  const { position } = await list('');
  await work();
  return (await list(position)).subjects;
}

describe('settings', () => {
  it('have the enabled guardrails of the tenant, and those of the owner for it', async () => {
    const auth = { type: 'bearer', token: 'canary' };
    const check = { type: 'presidio', url: 'https://presidio.example.com', auth };
    const id = await create({ name: 'names', check, select: { users: ['ada'], models: ['gpt-*'] } });
    await create({ name: 'off', enabled: false });
    const ofAll = await ofOwner('POST', '', { name: 'all' });
    const ofOne = await ofOwner('POST', '', { name: 'one', tenants: [tenant.id] });
    const [first, ...others] = await guardrailsOf(tenant);
    expect(first).toMatchObject({
      ...{ id, version: 1, name: 'names', users: ['ada'], models: ['gpt-*'], groups: [], fromOwner: false },
    });
    expect(JSON.parse(first?.definition ?? '')).toEqual({
      ...{
        action: 'mask',
        except: [],
        message: null,
        unreadable: 'allow',
        on_error: 'closed',
        hold: 'answer',
      },
      ...{ timeout_ms: 2_000, on: ['system', 'user', 'tool_result'] },
      check: {
        ...{ type: 'presidio', url: check.url, auth: { type: 'bearer', token_set: true } },
        ...{ entities: [], language: 'en', min_score: 0.5 },
      },
    });
    const ring = KeyRing.parse(service.identity.keyRing);
    expect(openGuardrailSecrets(ring, { id }, Buffer.from(first?.secrets ?? []))).toEqual(auth);
    expect(
      others.map(({ id: each, name, fromOwner, secrets }) => [each, name, fromOwner, secrets.length]),
    ).toEqual([
      [ofAll, 'owner:all', true, 0],
      [ofOne, 'owner:one', true, 0],
    ]);
    expect((await guardrailsOf(other)).map(({ name }) => name)).toEqual(['owner:all']);
    // Other services check no texts.
    expect(await guardrailsOf(tenant, 'analytics')).toEqual([]);
    for (const name of ['all', 'one']) await ofOwner('DELETE', `/${name}`);
  });

  it('change with a guardrail and its version', async () => {
    const id = await create({ name: 'versions' });
    const patch = (body: object) => service.call('PATCH', `/v1/guardrails/${id}`, { as: tenant.admin, body });
    expect(await changed(() => patch({ except: ['ada'] }))).toEqual([tenant.id]);
    expect((await guardrailsOf(tenant)).find((each) => each.id === id)?.version).toBe(2);
    expect(await changed(() => patch({ enabled: false }))).toEqual([tenant.id]);
    const one = { name: 'one', tenants: [tenant.id] };
    expect(await changed(() => ofOwner('POST', '', one))).toEqual([tenant.id]);
    expect(await changed(() => ofOwner('PATCH', '/one', { tenants: [other.id] }))).toEqual(
      expect.arrayContaining([tenant.id, other.id]),
    );
    expect(await changed(() => ofOwner('DELETE', '/one'))).toEqual([other.id]);
  });

  it('select groups by their ids, whatever their names become', async () => {
    const scim = new ScimClient(service, other);
    await create({ name: 'staff', select: { groups: ['Staff', 'team-*'] } }, other);
    const groups = async () => (await guardrailsOf(other)).flatMap(({ groups: entries }) => entries);
    expect(await groups()).toEqual([groupNameEntry('Staff'), groupNameEntry('team-*')]);
    let id = '';
    expect(
      await changed(async () => {
        id = (await scim.add('Groups', { displayName: 'staff' })).id;
      }),
    ).toContain(other.id);
    expect(await groups()).toEqual([groupEntry(id), groupNameEntry('team-*')]);
    await scim.patch(`/Groups/${id}`, { op: 'replace', path: 'displayName', value: 'Crew' });
    expect(await groups()).toEqual([groupEntry(id), groupNameEntry('team-*')]);
    const shown = await service.call('GET', '/v1/guardrails/staff', { as: other.admin });
    expect(shown.body).toMatchObject({ select: { groups: ['Crew', 'team-*'] } });
  });
});
