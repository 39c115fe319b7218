import { describe, expect, it } from '@jest/globals';
import type { Service } from '@gatehouse/shell/service';
import { createTestDatabase } from './database.ts';
import { DatabaseProxy } from './database-proxy.ts';
import { eventually } from './eventually.ts';
import { query } from './query.ts';
import type { ServiceUnderTest } from './service-under-test.ts';

type Started = ServiceUnderTest<{ close(): void }, unknown>;

/** Tests of what every service with a database does as it starts. `name` is also that of its schema. */
export function describeStarting(name: string, started: () => Started): void {
  const create = (databaseUrl: string): Promise<Service> =>
    started().create({ ...started().environment(), DATABASE_URL: databaseUrl });

  /** A way to the database that is not open yet, and a service that waits for it. */
  async function startWithoutDatabase(): Promise<{
    way: DatabaseProxy;
    service: Service;
    starting: Promise<void>;
  }> {
    const way = new DatabaseProxy(started().database.url);
    await way.open();
    await way.cut();
    const service = await create(way.url);
    const starting = service.start();
    starting.catch(() => undefined);
    await eventually(async () => expect(await readiness(service)).toBe(503));
    return { way, service, starting };
  }

  describe('starting', () => {
    it('waits for a database that is away, and then starts', async () => {
      const { way, service, starting } = await startWithoutDatabase();
      await way.open();
      await starting;
      expect(await readiness(service)).toBe(200);
      await service.stop();
      await way.cut();
    });

    it('can be given up while it waits', async () => {
      const { service, starting } = await startWithoutDatabase();
      await Promise.all([service.stop(), expect(starting).rejects.toThrow('stopped')]);
    });

    it.each([
      ['behind', `delete from ${name}.migrations`, new RegExp(`pending migrations in ${name}: 0001_`)],
      [
        'ahead',
        `insert into ${name}.migrations (name, run_on, version) values ('9999_contract_x', now(), '9.9.9')`,
        /too new for version \S+: 9999_contract_x of version 9\.9\.9/,
      ],
      ['missing', `drop schema ${name} cascade`, /run the migration step first/],
    ])('is refused on a schema that is %s', async (_which, damage, reason) => {
      const database = await createTestDatabase(name);
      await query(database.adminUrl, damage);
      const service = await create(database.url);
      await expect(service.start()).rejects.toThrow(reason);
      await database.drop();
    });
  });
}

/** The status of `/readyz`; null while nothing listens there. */
async function readiness(service: Service): Promise<number | null> {
  try {
    return (await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status;
  } catch {
    return null;
  }
}
