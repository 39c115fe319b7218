import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import {
  writeUserDeletion,
  type DeletionReceipt,
  type UserDeletionEvent,
} from '@gatehouse/events/deletion-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { oldDeletions } from '@gatehouse/shell/deletion-inbox-store';
import { columnsWith } from '@gatehouse/test/columns-with';
import { eventually } from '@gatehouse/test/eventually';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** The inbox of deletions, which is the same in every service that holds data of users. */

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let agentId: string;
beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
  ({ id: agentId } = await agents.makeAgent(tenant.admin));
});
afterEach(() => {
  agents.tenant.takes = true;
});
afterAll(() => agents.stop());

const cookies = { cookies: 1, mcp_logins: 0 };

async function leaveCookie(user: string): Promise<void> {
  const body = {
    agent_id: agentId,
    cookies: [{ name: 'sid', value: '1', domain: 'example.com', path: '/' }],
  };
  expect(
    (await agents.call('POST', '/v1/browser/cookies/sync', { as: tenant.acting(user), body })).status,
  ).toBe(200);
}

function requestOf(user: string, fields: Partial<UserDeletionEvent> = {}): UserDeletionEvent {
  const ids = { deletion_id: newId(), tenant_id: tenant.id };
  return {
    ...ids,
    service: 'agent',
    user_id: user,
    requested_at_ms: Date.now() + 1_000,
    counts: {},
    ...fields,
  };
}

async function send(...events: string[]): Promise<void> {
  await agents.send('tenant', { topic: topics.deletions, source: 'test', events, fresh: false });
}

const request = (deletion: UserDeletionEvent): Promise<void> => send(writeUserDeletion('test', deletion));

const receiptsOf = ({ deletion_id: id }: UserDeletionEvent): DeletionReceipt[] =>
  agents.tenant.receipts.filter((receipt) => receipt.deletion_id === id);

async function untilCompleted(
  deletion: UserDeletionEvent,
  receipts = 1,
): Promise<DeletionReceipt | undefined> {
  return eventually(() => {
    const completed = receiptsOf(deletion).filter((receipt) => receipt.completed);
    expect(completed).toHaveLength(receipts);
    return completed.at(-1);
  }, 20_000);
}

describe('a deletion of the data of a user that a service has taken', () => {
  it('removes the data, sends a receipt of their numbers, and leaves the user in no table', async () => {
    await leaveCookie('ada-4711');
    await leaveCookie('ben-4711');
    const deletion = requestOf('ada-4711', { counts: { cookies: 2 } });
    await request(deletion);
    const { user_id: _, ...expected } = { ...deletion, counts: { ...cookies, cookies: 3 }, completed: true };
    expect(await untilCompleted(deletion)).toEqual(expected);
    expect(await columnsWith((sql, values) => agents.rows(sql, values), 'ada-4711')).toEqual([]);
    expect(await agents.rows(`select from agent.cookies where user_id = 'ben-4711'`)).toHaveLength(1);
  });

  it('is carried out once when it is delivered again, and sends its receipt again', async () => {
    await leaveCookie('cleo');
    const deletion = requestOf('cleo');
    await Promise.all([request(deletion), request(deletion)]);
    await eventually(() => expect(receiptsOf(deletion).at(-1)?.completed).toBe(true));
    const before = receiptsOf(deletion).length;
    await leaveCookie('cleo');
    await request(deletion);
    await eventually(() => expect(receiptsOf(deletion).length).toBeGreaterThan(before));
    expect(receiptsOf(deletion).at(-1)).toMatchObject({ completed: true, counts: cookies });
    expect(await agents.rows(`select from agent.cookies where user_id = 'cleo'`)).toHaveLength(1);
  });

  it('starts over when it is requested again, and adds the numbers up', async () => {
    await leaveCookie('dan');
    const deletion = requestOf('dan');
    await request(deletion);
    await untilCompleted(deletion);
    await leaveCookie('dan');
    const later = { ...deletion, requested_at_ms: deletion.requested_at_ms + 1_000 };
    await request(later);
    expect((await untilCompleted(later, 2))?.counts).toEqual({ ...cookies, cookies: 2 });
  });

  it('removes the data while tenant is down, and sends the receipt after a restart of the service', async () => {
    agents.tenant.takes = false;
    await leaveCookie('eve');
    const deletion = requestOf('eve');
    await request(deletion);
    await eventually(async () =>
      expect(await agents.rows(`select from agent.cookies where user_id = 'eve'`)).toEqual([]),
    );
    await agents.service.stop();
    agents.tenant.takes = true;
    await agents.run();
    expect((await untilCompleted(deletion))?.counts).toEqual(cookies);
  });

  it('is tried again after a tenth of its age, up to five minutes, while tenant is down', async () => {
    agents.tenant.takes = false;
    const deletion = requestOf('fay');
    await agents.rows(
      `insert into agent.user_deletions (deletion_id, tenant_id, user_id, requested_at_ms, counts, due_at, received_at)
       values ($1, $2, 'fay', $3, '{}', now() - interval '1 second', now() - interval '20 minutes')`,
      [deletion.deletion_id, tenant.id, deletion.requested_at_ms],
    );
    // Wakes the inbox.
    await request(requestOf('fay', { service: 'memory' }));
    await eventually(async () => {
      const [row] = await agents.rows<{ seconds: number }>(
        `select extract(epoch from due_at - now())::float8 as seconds from agent.user_deletions
         where deletion_id = $1 and user_id is null`,
        [deletion.deletion_id],
      );
      // A tenth of 20 minutes is 120 seconds; a lease has 60.
      expect(row?.seconds).toBeGreaterThan(100);
      expect(row?.seconds).toBeLessThan(121);
    });
  });

  it('goes on when the replica that had it is gone', async () => {
    await leaveCookie('finn');
    const deletion = requestOf('finn');
    // Taken by a replica that has ended since: its lease is over.
    await agents.rows(
      `insert into agent.user_deletions (deletion_id, tenant_id, user_id, requested_at_ms, counts, due_at)
       values ($1, $2, 'finn', $3, '{}', now() - interval '1 second')`,
      [deletion.deletion_id, tenant.id, deletion.requested_at_ms],
    );
    await agents.service.stop();
    await agents.run();
    expect((await untilCompleted(deletion))?.counts).toEqual(cookies);
  });

  it('leaves the inbox a month after its receipt was sent', async () => {
    const ids = [newId(), newId(), newId()];
    await agents.rows(
      `insert into agent.user_deletions (deletion_id, tenant_id, requested_at_ms, counts, due_at, received_at)
       select id, $2, 0, '{}', due_at, now() - make_interval(days => days)
       from unnest($1::uuid[], $3::timestamptz[], $4::integer[]) as d (id, due_at, days)`,
      [ids, tenant.id, [null, new Date(Date.now() + 3_600_000), null], [31, 31, 29]],
    );
    const { url } = agents.database;
    const pool = createPool({ url, role: 'agent_system', max: 1, log: createLogger('test', 'silent') });
    try {
      await deleteOldRows(pool, oldDeletions('agent'));
    } finally {
      await pool.end();
    }
    const left = await agents.rows<{ id: string }>(
      'select deletion_id as id from agent.user_deletions where deletion_id = any ($1::uuid[])',
      [ids],
    );
    expect(left.map(({ id }) => id).toSorted()).toEqual(ids.slice(1).toSorted());
  });
});

it("skips deletions of other services and events that it can't read", async () => {
  await leaveCookie('gus');
  const deletion = requestOf('gus', { service: 'memory' });
  await send('no event', writeUserDeletion('test', deletion));
  expect(
    await agents.rows('select from agent.user_deletions where deletion_id = $1', [deletion.deletion_id]),
  ).toEqual([]);
  const nothing = { topic: topics.deletions, source: 'test', events: [], fresh: false };
  await expect(agents.send('chat', nothing)).rejects.toMatchObject({ code: 'caller_not_allowed' });
});
