import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TransferPreview } from '@gatehouse/contract/transfers';
import { eventually } from '@gatehouse/test/eventually';
import { newId } from '@gatehouse/kit/ids';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import type { TransferSides } from './transfer-sides.ts';

/** Previews of transfers, with stand-ins for the services that have the resources. */

const path = '/v1/tenant/resource-transfers/previews';
const owner: As = { role: 'owner' };
let tenants: TenantServiceUnderTest;
let source: TestTenant;
let target: TestTenant;
let sides: TransferSides;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  sides = tenants.others.transfers;
  source = await tenants.makeTenant();
});
beforeEach(async () => {
  sides.reset();
  target = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

interface Asked {
  as?: As;
  mode?: string;
  target?: string;
  source?: string;
  resources?: unknown[];
  others?: object;
}

async function preview({ as = owner, mode = 'copy', resources, others, ...asked }: Asked = {}) {
  const body = {
    mode,
    source_tenant_id: asked.source ?? source.id,
    target_tenant_id: asked.target ?? target.id,
    resources: resources ?? [sides.add(newId())],
    ...others,
  };
  const answer = await tenants.call('POST', path, { as, body });
  return {
    ...answer,
    body: answer.body as unknown as TransferPreview & { error: { code: string; param: string } },
  };
}

const shown = async (id: string, as: As) => {
  const { status, body } = await tenants.call('GET', `${path}/${id}`, { as });
  return { status, body: body as unknown as TransferPreview };
};
const accept = async (id: string, as: As) => {
  const { status, body } = await tenants.call('POST', `${path}/${id}/accept`, { as });
  return { status, body: body as unknown as TransferPreview & { error: { code: string } } };
};

describe('a preview by an owner', () => {
  it('shows what would become of each resource, and what the target has against it', async () => {
    const agent = sides.add(newId(), { name: 'poet', models: ['gpt-4.1'] });
    const server = sides.add(newId(), { type: 'mcp_server', name: 'mail', hasSecrets: true });
    const channel = sides.add(newId(), { type: 'channel_instance', name: 'Bot', hasSecrets: true });
    const existingId = newId();
    sides.dependencies = [{ of: agent, ofName: 'poet', needs: server }];
    sides.conflicts = [{ of: agent, existingId, freeName: 'poet-2' }];
    sides.problems = [{ code: 'limit_reached', message: 'Full.' }];
    const resources = [agent, server, channel];
    const { status, body, headers } = await preview({ resources, others: { on_conflict: 'rename' } });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${path}/${body.id}`);
    expect(body).toMatchObject({
      ...{ status: 'open', accepted: true, include: { memory: true, knowledge_graph: true } },
      resources: [
        { name: 'poet', action: 'copy', target_name: 'poet-2', secrets: 'none', counts: { documents: 3 } },
        { name: 'mail', action: 'copy', target_name: 'mail', secrets: 'travel' },
        { name: 'Bot', action: 'copy', secrets: 'stay' },
      ],
      dependencies: [{ name: 'poet', needs: { name: 'mail' }, included: true }],
      conflicts: [{ name: 'poet', existing_id: existingId, resolution: 'rename' }],
      problems: [{ code: 'limit_reached' }],
    });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(3_600_000);
    expect(await shown(body.id, owner)).toEqual({ status: 200, body });
    const skipped = await preview({ resources: [agent, server], others: { on_conflict: 'skip' } });
    expect(skipped.body.resources.map(({ action }) => action)).toEqual(['skip', 'copy']);
    const moved = await preview({ mode: 'move', resources: [server, channel] });
    expect(moved.body.resources.map(({ secrets }) => secrets)).toEqual(['travel', 'travel']);
  });

  it('names the models that the target may not use', async () => {
    const body = { allowed_models: ['gpt-4.1-mini'] };
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${target.id}`, { as: owner, body });
    tenants.others.unusableModels.set(target.id, ['gpt-4.1', 'o3']);
    const agent = sides.add(newId(), { models: ['gpt-4.1-mini', 'gpt-4.1'] });
    const other = sides.add(newId(), { models: ['o3'] });
    sides.conflicts = [{ of: other, existingId: newId(), freeName: 'poet-2' }];
    const asked = { resources: [agent, other], others: { on_conflict: 'skip' } };
    expect((await preview(asked)).body.problems).toEqual([
      { code: 'model_not_found', message: 'The target may not use the model gpt-4.1.' },
    ]);
    await tenants.others.of('chat').stop();
    expect((await preview(asked)).status).toBe(503);
    await tenants.others.of('chat').restart();
    await eventually(async () => expect((await preview(asked)).status).toBe(201));
  });

  it('is refused for tenants that do not exist or are suspended', async () => {
    const unknown = await preview({ target: newId() });
    expect([unknown.status, unknown.body.error]).toMatchObject([400, { param: 'target_tenant_id' }]);
    expect((await preview({ source: newId() })).body.error.param).toBe('source_tenant_id');
    const body = { status: 'suspended' };
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${target.id}`, { as: owner, body });
    expect((await preview()).body.error).toMatchObject({ code: 'tenant_suspended' });
  });
});

describe('a preview', () => {
  it('is refused for what contradicts itself, is not there, or is needed and left out', async () => {
    const same = await preview({ target: source.id });
    expect([same.status, same.body.error]).toMatchObject([400, { param: 'target_tenant_id' }]);
    const agent = sides.add(newId());
    const twice = await preview({ resources: [agent, { ...agent, id: agent.id.toUpperCase() }] });
    expect([twice.status, twice.body.error]).toMatchObject([400, { param: 'resources[1]' }]);
    const foreign = await preview({ resources: [agent, { type: 'agent', id: newId() }] });
    expect([foreign.status, foreign.body.error]).toMatchObject([404, { param: 'resources[1].id' }]);
    const wrongType = await preview({ resources: [{ ...agent, type: 'mcp_server' }] });
    expect(wrongType.status).toBe(404);
    sides.dependencies = [{ of: agent, ofName: 'poet', needs: { type: 'mcp_server', id: newId() } }];
    const lacking = await preview({ resources: [agent] });
    expect([lacking.status, lacking.body.error]).toMatchObject([400, { code: 'dependency_missing' }]);
    for (const resources of [[], Array.from({ length: 101 }, () => ({ type: 'agent', id: newId() }))])
      expect((await preview({ resources })).status).toBe(400);
    const count =
      'select count(*)::integer as count from tenant.transfer_previews where target_tenant_id = $1';
    expect(await tenants.rows(count, [target.id])).toEqual([{ count: 0 }]);
  });

  it('shows what stays and needs something that moves', async () => {
    const server = sides.add(newId(), { type: 'mcp_server', name: 'mail' });
    sides.dependencies = [{ of: { type: 'agent', id: newId() }, ofName: 'clerk', needs: server }];
    const { body } = await preview({ mode: 'move', resources: [server] });
    expect(body.dependencies).toMatchObject([{ name: 'clerk', needs: { name: 'mail' }, included: false }]);
  });

  it('can be asked for while a service is away, once it is back', async () => {
    await tenants.others.of('agent').stop();
    expect((await preview()).status).toBe(503);
    await tenants.others.of('agent').restart();
    await eventually(async () => expect((await preview()).status).toBe(201));
  });
});

describe('a preview by an admin', () => {
  it('is of the own tenant alone', async () => {
    expect((await preview({ as: target.admin })).body.error.code).toBe('role_missing');
    expect((await preview({ as: { ...source.admin, role: 'user', scopes: ['chat'] } })).status).toBe(403);
    expect((await preview({ as: source.admin })).status).toBe(201);
  });

  it('shows nothing of the target until that has accepted, not even whether it exists', async () => {
    sides.problems = [{ code: 'limit_reached', message: 'Full.' }];
    const to = async (id: string) => {
      const { body, status } = await preview({ as: source.admin, target: id });
      return { status, body };
    };
    const [known, unknown] = [await to(target.id), await to(newId())];
    const alike = { id: '', target_tenant_id: '', created_at: '', expires_at: '', resources: [] };
    expect({ ...known.body, ...alike }).toEqual({ ...unknown.body, ...alike });
    expect(known.body).toMatchObject({ accepted: false, conflicts: null, problems: null });
    expect(sides.requests.every(({ targetTenantId }) => targetTenantId === '')).toBe(true);

    const accepted = await accept(known.body.id, target.admin);
    expect(accepted).toMatchObject({ status: 200, body: { accepted: true, problems: sides.problems } });
    expect((await shown(known.body.id, source.admin)).body).toEqual(accepted.body);
    expect(await accept(known.body.id, target.admin)).toEqual(accepted);
    const entries = await tenants.rows(
      `select tenant_id as "tenantId" from tenant.audit_log where action = 'transfer.accepted' and resource_id = $1`,
      [known.body.id],
    );
    expect(entries).toEqual([{ tenantId: target.id }]);
  });

  it('is seen and accepted by those it concerns, until it has expired', async () => {
    const { body } = await preview({ as: source.admin });
    const stranger = await tenants.makeTenant();
    expect((await shown(body.id, stranger.admin)).status).toBe(404);
    expect((await shown(body.id, target.admin)).status).toBe(200);
    expect((await accept(body.id, stranger.admin)).status).toBe(404);
    expect((await accept(body.id, source.admin)).body.error.code).toBe('role_missing');
    expect((await accept(body.id, owner)).body.error.code).toBe('role_missing');
    const expire = `update tenant.transfer_previews set expires_at = now() where id = $1 returning id`;
    await tenants.rows(expire, [body.id]);
    expect((await shown(body.id, source.admin)).body.status).toBe('expired');
    expect(await accept(body.id, target.admin)).toMatchObject({
      ...{ status: 409, body: { error: { code: 'preview_expired' } } },
    });
  });
});
