import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { DatabaseProxy } from './database-proxy.ts';
import { testIdentity, type TestIdentity } from './identity.ts';

type Stop = () => Promise<void> | void;

/** The ground of a service in a test: a database of its own that can be cut off, and keys that its peers know. */
export class ServiceGround {
  readonly database: TestDatabase;
  /** The service's way to its database, which a test may cut. */
  readonly proxy: DatabaseProxy;
  readonly identity: TestIdentity;
  readonly #admin: Client;
  readonly #stops: Stop[] = [];

  private constructor(database: TestDatabase, identity: TestIdentity) {
    this.database = database;
    this.identity = identity;
    this.proxy = new DatabaseProxy(database.url);
    this.#admin = new Client({ connectionString: database.adminUrl });
  }

  static async prepare(service: string): Promise<ServiceGround> {
    const [database, identity] = await Promise.all([createTestDatabase(service), testIdentity()]);
    const ground = new ServiceGround(database, identity);
    await Promise.all([ground.#admin.connect(), ground.proxy.open()]);
    return ground;
  }

  /** Rows as the superuser sees them. */
  async rows<Row extends object = Record<string, unknown>>(
    sql: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return (await this.#admin.query<Row>(sql, values)).rows;
  }

  /** To be stopped with the ground, the latest first. */
  onStop(stop: Stop): void {
    this.#stops.push(stop);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) await stop();
    await this.proxy.cut();
    await this.#admin.end();
    await this.database.drop();
  }
}
