import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { openGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { beginTransfer, endedTransfer } from './transfer-calls.ts';
import type { TransferSides } from './transfer-sides.ts';

/** Guardrails that a transfer copies with an agent. */

const owner: As = { role: 'owner' };
let tenants: TenantServiceUnderTest;
let sides: TransferSides;
let source: TestTenant;
let target: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  sides = tenants.others.transfers;
});
beforeEach(async () => {
  sides.reset();
  [source, target] = [await tenants.makeTenant(), await tenants.makeTenant()];
  sides.runStep = () => Promise.resolve({ completed: true });
});
afterAll(() => tenants.stop());

const begin = (resources = [sides.add(newId())], mode = 'copy', as = owner) =>
  beginTransfer(tenants, { source, target, resources, mode, as });
const ended = (transfer: { id: string }) => endedTransfer(tenants, transfer);

it('are those that select only the agent, under free names and for the copy', async () => {
  const id = newId();
  const make = (as: As, name: string, body: object) =>
    tenants.call('POST', '/v1/guardrails', {
      as,
      body: { name, check: { type: 'pii' }, action: 'mask', ...body },
    });
  const auth = { type: 'bearer', token: 'canary-51ee' };
  const check = { type: 'presidio', url: 'https://presidio.example.com', auth };
  await make(source.admin, 'by-id', { select: { agents: [id] }, except: ['ada'] });
  await make(source.admin, 'by-key', { select: { agents: ['poet'] }, check });
  await make(source.admin, 'by-both', { select: { agents: ['poet', id] }, enabled: false });
  for (const [name, select] of Object.entries({
    ...{ all: {}, other: { agents: ['poets'] }, two: { agents: [id, 'other'] } },
    narrower: { agents: [id], models: ['small'] },
  }))
    await make(source.admin, name, { select });
  await make(target.admin, 'by-id', {});
  const list = async () => {
    const { body } = await tenants.call('GET', '/v1/guardrails', { as: target.admin });
    return (body.data as unknown as { name: string; select: { agents: string[] } }[]).filter(
      ({ select }) => select.agents.length > 0,
    );
  };
  const { body } = await begin([sides.add(id)]);
  const { items } = (await ended(body)) as unknown as { items: { target_id: string }[] };
  const agents = [items[0]?.target_id];
  const copies = await list();
  expect(copies).toHaveLength(3);
  expect(copies).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'by-id-2', except: ['ada'], action: 'mask' }),
      expect.objectContaining({
        name: 'by-key',
        check: expect.objectContaining({ auth: { type: 'none' } }),
      }),
      expect.objectContaining({ name: 'by-both', enabled: false }),
    ]),
  );
  for (const { select } of copies) expect(select).toMatchObject({ agents, models: [], users: [] });
});

it('have their credentials where secrets travel, and are gone once the transfer is undone', async () => {
  const id = newId();
  const auth = { type: 'bearer', token: 'canary-51ee' };
  const check = { type: 'presidio', url: 'https://presidio.example.com', auth };
  const made = { name: 'names', select: { agents: [id] }, check, action: 'mask' };
  await tenants.call('POST', '/v1/guardrails', { as: source.admin, body: made });
  const rows = () =>
    tenants.rows<{ id: string; secrets: Buffer }>(
      'select id, secrets from tenant.guardrails where tenant_id = $1',
      [target.id],
    );
  sides.runStep = ({ step }) => {
    if (step === 'close') throw new AppError('limit_reached', 'The target is full.');
    return Promise.resolve({ completed: true });
  };
  expect(await ended((await begin([sides.add(id, { hasSecrets: true })], 'move')).body)).toMatchObject({
    status: 'failed',
  });
  expect(await rows()).toEqual([]);
  const audited = await tenants.rows(
    "select action from tenant.audit_log where tenant_id = $1 and action like 'guardrail.%' order by id",
    [target.id],
  );
  expect(audited).toEqual([{ action: 'guardrail.created' }, { action: 'guardrail.deleted' }]);
  sides.runStep = () => Promise.resolve({ completed: true });
  expect(await ended((await begin([sides.add(id, { hasSecrets: true })], 'move')).body)).toMatchObject({
    status: 'completed',
  });
  const [copy] = await rows();
  const ring = KeyRing.parse(tenants.identity.keyRing);
  expect(copy && openGuardrailSecrets(ring, copy, copy.secrets)).toEqual(auth);
});
