import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import type { RunStepRequest } from '@gatehouse/proto/participant/v1/participant';
import { eventually } from '@gatehouse/test/eventually';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import type { As } from '@gatehouse/test/service-under-test';
import { oldPreviews } from '../src/transfers/preview-store.ts';
import { oldTransfers, TransferSystemStore } from '../src/transfers/transfer-system-store.ts';
import { transferUpkeep } from '../src/transfers/transfer-upkeep-job.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import {
  beginTransfer,
  endedTransfer,
  transfersPath as path,
  type AnsweredTransfer,
} from './transfer-calls.ts';
import type { TransferSides } from './transfer-sides.ts';

/** How the tenant service takes transfers through their phases, with stand-ins for the services that have a part. */

const owner: As = { role: 'owner' };
const log = createLogger('test', 'silent');
let tenants: TenantServiceUnderTest;
let sides: TransferSides;
let source: TestTenant;
let target: TestTenant;
let steps: string[];

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  sides = tenants.others.transfers;
});
beforeEach(async () => {
  sides.reset();
  [source, target] = [await tenants.makeTenant(), await tenants.makeTenant()];
  steps = [];
  answer(() => true);
});
afterAll(() => tenants.stop());

/** Notes the steps, and answers them. */
function answer(how: (step: string, calls: number) => boolean): void {
  sides.runStep = ({ step }) => {
    steps.push(step);
    return Promise.resolve({ completed: how(step, steps.filter((each) => each === step).length) });
  };
}

const begin = (resources = [sides.add(newId())], mode = 'copy', as = owner) =>
  beginTransfer(tenants, { source, target, resources, mode, as });
const ended = (transfer: { id: string }) => endedTransfer(tenants, transfer);

const inUse = () =>
  tenants.rows('select resource_id from tenant.transfer_resources where tenant_id = $1', [source.id]);

describe('a transfer', () => {
  it('runs each step in all services until they have completed it, and reports to both sides', async () => {
    answer((step, calls) => step !== 'copy' || calls > 2);
    const { status, body } = await begin();
    expect([status, body]).toMatchObject([202, { status: 'running', phase: 'locking', finished_at: null }]);
    expect(await ended(body)).toMatchObject({ status: 'completed', phase: 'completed', error: null });
    const of = (step: string) => steps.filter((each) => each === step).length;
    expect([of('lock'), of('copy'), of('close'), of('commit'), of('abort')]).toEqual([3, 5, 0, 3, 0]);
    expect(steps).toEqual(
      steps.toSorted((a, b) => ['lock', 'copy', 'commit'].indexOf(a) - ['lock', 'copy', 'commit'].indexOf(b)),
    );
    expect(await inUse()).toEqual([]);
    for (const { id } of [source, target]) {
      const entries = await tenants.rows(
        `select action from tenant.audit_log where tenant_id = $1 and action like 'transfer.%' order by action`,
        [id],
      );
      const finished = { action: 'transfer.finished' };
      expect(entries).toEqual(id === source.id ? [finished, { action: 'transfer.started' }] : [finished]);
      await eventually(() =>
        expect(tenants.others.alertsOf(id, 'transfer.finished')).toMatchObject([
          { data: { transfer_id: body.id, status: 'completed', target_tenant_id: target.id } },
        ]),
      );
    }
  });

  it('has no ids of copies in a dry run, which begins none', async () => {
    const resources = [sides.add(newId())];
    const body = { mode: 'copy', source_tenant_id: source.id, target_tenant_id: target.id, resources };
    const preview = await tenants.call('POST', `${path}/previews`, { as: owner, body });
    const request = { as: owner, body: { preview_id: preview.body.id } };
    const dryRun = await tenants.call('POST', `${path}?dry_run=true`, request);
    const items = [{ action: 'copy', source_id: resources[0]?.id, target_id: null }];
    expect([dryRun.status, dryRun.body]).toMatchObject([202, { id: null, status: 'running', items }]);
    expect([await inUse(), steps]).toEqual([[], []]);
    const begun = await tenants.call('POST', path, request);
    expect(begun.status).toBe(202);
    await ended(begun.body);
  });

  it('closes what moves, and waits for requests that are under way', async () => {
    let runs = 1;
    tenants.others.openRuns = () => runs;
    const { body } = await begin(undefined, 'move');
    await eventually(() => expect(steps).toContain('close'));
    expect(steps).not.toContain('commit');
    runs = 0;
    expect(await ended(body)).toMatchObject({ status: 'completed', items: [{ action: 'move' }] });
  });

  it('is undone when a service refuses a step before it is effective', async () => {
    for (const refused of ['lock', 'copy']) {
      steps = [];
      sides.runStep = ({ step }) => {
        steps.push(step);
        if (step === refused) throw new AppError('limit_reached', 'The target is full.');
        return Promise.resolve({ completed: true });
      };
      const { body } = await begin();
      expect(await ended(body)).toMatchObject({
        ...{ status: 'failed', error: { code: 'limit_reached', message: 'The target is full.' } },
        items: [{ target_id: null }],
      });
      expect(steps.filter((step) => step === 'abort')).toHaveLength(3);
      expect(steps).not.toContain('commit');
      expect(await inUse()).toEqual([]);
    }
  });

  it('goes on after outages, also of the service itself, and once effective is never undone', async () => {
    let down = true;
    sides.runStep = ({ step }: RunStepRequest) => {
      steps.push(step);
      if (down && step === 'commit') throw new AppError('limit_reached', 'Not now.');
      if (down && step === 'copy' && steps.length < 5) throw new AppError('service_unavailable', 'Not now.');
      return Promise.resolve({ completed: true });
    };
    const { body } = await begin();
    await eventually(
      () => expect(steps.filter((step) => step === 'commit').length).toBeGreaterThan(1),
      30_000,
    );
    await tenants.service.stop();
    await tenants.run();
    down = false;
    expect(await ended(body)).toMatchObject({ status: 'completed', error: null });
    expect(steps).not.toContain('abort');
  });

  it('is undone when nothing of it is effective after a quarter of an hour', async () => {
    for (const isEffective of [false, true]) {
      let isStuck = true;
      steps = [];
      sides.runStep = ({ step }) => {
        steps.push(step);
        if (step === 'commit' && isStuck)
          throw new AppError('query_timeout', 'The database query timed out.');
        if (step === 'abort' && isEffective)
          throw new AppError('resource_locked', 'The transfer is committed already.');
        return Promise.resolve({ completed: true });
      };
      const { body } = await begin();
      await eventually(() => expect(steps).toContain('commit'), 30_000);
      expect(steps).not.toContain('abort');
      await tenants.rows(
        `update tenant.transfers set phase_at = now() - interval '16 minutes' where id = $1`,
        [body.id],
      );
      await eventually(() => expect(steps).toContain('abort'), 60_000);
      if (isEffective) isStuck = false;
      expect(await ended(body)).toMatchObject(
        isEffective
          ? { status: 'completed', error: null }
          : { status: 'failed', error: { code: 'resource_locked' } },
      );
      expect(await inUse()).toEqual([]);
    }
  });

  it('shows how long the oldest one has been in its phase', async () => {
    let isHeld = true;
    answer((step) => step !== 'copy' || !isHeld);
    const { body } = await begin();
    await eventually(() => expect(steps).toContain('copy'));
    await tenants.rows(
      `update tenant.transfers set phase_at = now() - interval '20 minutes' where id = $1 returning id`,
      [body.id],
    );
    const pool = createPool({ url: tenants.database.url, role: 'tenant_system', max: 1, log });
    const none = () => Promise.resolve();
    const transfers = new TransferSystemStore(pool, {
      keyRing: KeyRing.parse(tenants.identity.keyRing),
      jobs: { add: () => Promise.resolve(undefined) },
      record: none,
      raise: none,
    });
    const registry = new Registry();
    const parts = transferUpkeep({
      ...{ transfers, log, registry, everyMs: 50 },
    });
    for (const part of parts) part.start();
    await eventually(async () => {
      const shown = await registry.metrics();
      expect(shown).toMatch(/gatehouse_transfer_phase_seconds{phase="copying"} 12\d\d/);
      expect(shown).toContain('gatehouse_transfer_phase_seconds{phase="committing"} 0');
    });
    for (const part of parts) await part.stop();
    await pool.end();
    isHeld = false;
    expect(await ended(body)).toMatchObject({ status: 'completed' });
  });

  it('is shown for a year after its end, and its preview for a day after it has expired', async () => {
    const [old, recent] = [(await begin()).body, (await begin()).body];
    for (const each of [old, recent]) await ended(each);
    const age = `with aged as (
        update tenant.transfers set finished_at = now() - $2 * interval '1 day' where id = $1 returning preview_id)
      update tenant.transfer_previews set expires_at = now() - $3 * interval '1 hour' from aged where id = preview_id`;
    await tenants.rows(age, [old.id, 367, 25]);
    await tenants.rows(age, [recent.id, 364, 23]);
    const pool = createPool({ url: tenants.database.url, role: 'tenant_system', max: 1, log });
    await deleteOldRows(pool, oldTransfers);
    await deleteOldRows(pool, oldPreviews);
    await pool.end();
    const shown = async ({ id }: { id: string }) =>
      (await tenants.call('GET', `${path}/${id}`, { as: owner })).status;
    expect([await shown(old), await shown(recent)]).toEqual([404, 200]);
    const previews = 'select source_tenant_id from tenant.transfer_previews where source_tenant_id = $1';
    expect(await tenants.rows(previews, [source.id])).toHaveLength(1);
  });

  it('excludes another one of the same resource', async () => {
    const agent = sides.add(newId());
    let isHeld = true;
    answer((step) => step !== 'copy' || !isHeld);
    const first = await begin([agent]);
    const second = await begin([agent, sides.add(newId())]);
    expect([second.status, second.body.error]).toMatchObject([409, { code: 'resource_locked' }]);
    isHeld = false;
    expect(await ended(first.body)).toMatchObject({ status: 'completed' });
    expect((await begin([agent])).status).toBe(202);
  });

  it('is refused when anything has changed since the preview, which it names', async () => {
    const agent = sides.add(newId(), { name: 'poet' });
    const other = sides.add(newId(), { name: 'clerk' });
    const body = {
      ...{ mode: 'copy', source_tenant_id: source.id, target_tenant_id: target.id },
      ...{ resources: [agent, other], on_conflict: 'rename' },
    };
    const needs = [{ of: { type: 'channel_instance', id: newId() }, ofName: 'clerk', needs: agent }];
    const changes: (() => void)[] = [
      () => sides.add(other.id, { name: 'clerk', revision: '2' }),
      () => (sides.dependencies = needs),
      () => sides.resources.delete(other.id),
      () => sides.add(other.id, { name: 'clerk', revision: '3' }),
      () => (sides.conflicts = [{ of: other, existingId: newId(), freeName: 'clerk-2' }]),
    ];
    for (const change of changes) {
      sides.dependencies = [];
      sides.add(other.id, { name: 'clerk' });
      const preview = await tenants.call('POST', `${path}/previews`, { as: owner, body });
      change();
      const refused = await tenants.call('POST', path, { as: owner, body: { preview_id: preview.body.id } });
      expect([refused.status, refused.body.error]).toMatchObject([
        409,
        { code: 'preview_stale', message: 'Changed since the preview: clerk. Make another one.' },
      ]);
    }
    sides.conflicts = [];
    sides.problems = [{ code: 'limit_reached', message: 'Full.' }];
    const full = await tenants.call('POST', `${path}/previews`, { as: owner, body });
    const refused = await tenants.call('POST', path, { as: owner, body: { preview_id: full.body.id } });
    expect([refused.status, refused.body.error]).toMatchObject([403, { code: 'limit_reached' }]);
    expect(await inUse()).toEqual([]);
  });

  it('is begun by an owner also from a preview of an admin, and by an admin only with consent', async () => {
    const body = {
      ...{ mode: 'copy', source_tenant_id: source.id, target_tenant_id: target.id },
      resources: [sides.add(newId(), { hasSecrets: true })],
    };
    const previewed = async (as: As) =>
      (await tenants.call('POST', `${path}/previews`, { as, body })).body.id;
    const start = async (preview_id: unknown, as: As) => {
      const answered = await tenants.call('POST', path, { as, body: { preview_id } });
      return { status: answered.status, body: answered.body as unknown as AnsweredTransfer };
    };
    const ofAdmin = await previewed(source.admin);
    expect(await start(ofAdmin, source.admin)).toMatchObject({
      ...{ status: 403, body: { error: { code: 'not_accepted' } } },
    });
    sides.runStep = ({ transfer }) => {
      steps.push(String(transfer?.withSecrets));
      return Promise.resolve({ completed: true });
    };
    expect(await ended((await start(ofAdmin, owner)).body)).toMatchObject({ status: 'completed' });
    expect(new Set(steps)).toEqual(new Set(['false']));
    // Its secrets travel, and the target was not asked.
    const ofOwner = await previewed(owner);
    expect(await start(ofOwner, source.admin)).toMatchObject({
      ...{ status: 403, body: { error: { code: 'role_missing' } } },
    });
    expect(await start(ofOwner, target.admin)).toMatchObject({ status: 403 });
    await tenants.rows('update tenant.transfer_previews set expires_at = now() where id = $1 returning id', [
      ofOwner,
    ]);
    expect(await start(ofOwner, owner)).toMatchObject({
      ...{ status: 409, body: { error: { code: 'preview_expired' } } },
    });
  });

  it('does not show its source what the target has, when an owner has begun it', async () => {
    const agent = sides.add(newId());
    const existingId = newId();
    sides.conflicts = [{ of: agent, existingId, freeName: 'poet-2' }];
    const body = {
      ...{ mode: 'copy', source_tenant_id: source.id, target_tenant_id: target.id },
      ...{ resources: [agent], on_conflict: 'skip' },
    };
    const preview = await tenants.call('POST', `${path}/previews`, { as: owner, body });
    const begun = await tenants.call('POST', path, { as: owner, body: { preview_id: preview.body.id } });
    const { id } = begun.body as unknown as AnsweredTransfer;
    await ended({ id });
    const shownTo = async (as: As) =>
      ((await tenants.call('GET', `${path}/${id}`, { as })).body as unknown as AnsweredTransfer).items;
    expect(await shownTo(source.admin)).toMatchObject([{ action: 'skip', target_id: null }]);
    for (const as of [target.admin, owner])
      expect(await shownTo(as)).toMatchObject([{ action: 'skip', target_id: existingId }]);
  });
});
