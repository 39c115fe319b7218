import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';

const services = path.join(import.meta.dirname, '../../services');

/** A database with the schema of a service before one of its migrations, owned by a role without superuser rights. */
export class SchemaBefore {
  /** Connected as superuser. */
  readonly client: Client;
  readonly #database: TestDatabase;
  readonly #folder: string;
  readonly #owner = `owner_${newId().slice(-12)}`;

  private constructor(database: TestDatabase, folder: string) {
    this.#database = database;
    this.#folder = folder;
    this.client = new Client({ connectionString: database.adminUrl });
  }

  static async create(service: string, migration: string): Promise<SchemaBefore> {
    const folder = path.join(services, service, 'migrations');
    const schema = new SchemaBefore(await createTestDatabase(service), folder);
    await schema.#rebuild(service);
    for (const name of (await readdir(folder)).sort()) if (name < migration) await schema.apply(name);
    return schema;
  }

  /** Applies a migration as the owner, in a transaction, like the migration step. */
  async apply(name: string): Promise<void> {
    const text = await readFile(path.join(this.#folder, name), 'utf8');
    try {
      await this.client.query(`set role ${this.#owner}; begin; ${text}; commit`);
    } catch (error) {
      await this.client.query('rollback');
      throw error;
    } finally {
      await this.client.query('reset role');
    }
  }

  async drop(): Promise<void> {
    await this.client.query(`drop owned by ${this.#owner} cascade; drop role ${this.#owner}`);
    await this.client.end();
    await this.#database.drop();
  }

  async #rebuild(service: string): Promise<void> {
    await this.client.connect();
    await this.client.query(`drop schema ${service} cascade; create role ${this.#owner} nologin createrole;
      create schema ${service} authorization ${this.#owner}; set role ${this.#owner};
      create table ${service}.migrations (name text); reset role`);
  }
}
