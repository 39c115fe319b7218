import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { createTestDatabase } from '@gatehouse/test/database';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { loadConfig } from '../src/config.ts';
import type { Service } from '@gatehouse/service/service';
import { createAgentService } from '../src/service.ts';
import { AgentServiceUnderTest, environmentOf } from './agent-service.ts';

const log = createLogger('agent', 'silent');

let agents: AgentServiceUnderTest;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
afterAll(() => agents.stop());

/** Another replica, not started yet. */
async function makeReplica(databaseUrl: string): Promise<Service> {
  const { identity, chat, tenant } = agents;
  return createAgentService(
    loadConfig(environmentOf({ databaseUrl, identity, chat: chat.address, tenant: tenant.address })),
    {
      log,
    },
  );
}

async function cutProxy(): Promise<DatabaseProxy> {
  const proxy = new DatabaseProxy(agents.database.url);
  await proxy.open();
  await proxy.cut();
  return proxy;
}

const readyz = async (service: Service) =>
  (await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status;

describe('starting', () => {
  it('waits for a database that is away, and then starts', async () => {
    const late = await cutProxy();
    const service = await makeReplica(late.url);
    const started = service.start();
    await sleep(200);
    expect(await readyz(service)).toBe(503);
    await late.open();
    await started;
    expect(await readyz(service)).toBe(200);
    await service.stop();
    await late.cut();
  });

  it('can be given up while it waits', async () => {
    const gone = await cutProxy();
    const service = await makeReplica(gone.url);
    const started = service.start();
    await sleep(200);
    await Promise.all([service.stop(), expect(started).rejects.toThrow('stopped')]);
  });

  it.each([
    ['behind', `delete from agent.migrations`, /pending migrations in agent: 0001_/],
    [
      'ahead',
      `insert into agent.migrations (name, run_on) values ('9999_contract_x', now())`,
      /too new for this release: 9999_contract_x/,
    ],
    ['missing', `drop schema agent cascade`, /run the migration step first/],
  ])('is refused on a schema that is %s', async (_which, damage, reason) => {
    const database = await createTestDatabase('agent');
    const admin = createPool({ url: database.adminUrl, role: 'none', max: 1, log });
    await admin.query(damage);
    await admin.end();
    const service = await makeReplica(database.url);
    await expect(service.start()).rejects.toThrow(reason);
    await database.drop();
  });

  it('does not need chat, and neither does being ready', async () => {
    await agents.chat.stop();
    const service = await makeReplica(agents.database.url);
    await service.start();
    expect(await readyz(service)).toBe(200);
    await service.stop();
    await agents.chat.restart();
  });
});
