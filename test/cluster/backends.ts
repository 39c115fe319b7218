import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startKafka, type RunningKafka } from '@gatehouse/local/kafka';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres, type Postgres } from '@gatehouse/local/postgres';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { query } from '@gatehouse/test/query';

const database = 'gatehouse';

/**
 * Backends that an operator brings: a database, a Kafka and a provider, on this machine and open to the cluster's pods.
 */
export class Backends {
  readonly simulator: ProviderSimulator;
  readonly #folder: string;
  readonly #host: string;
  readonly #postgres: Postgres;
  #kafka: RunningKafka;

  private constructor(parts: {
    simulator: ProviderSimulator;
    folder: string;
    host: string;
    postgres: Postgres;
    kafka: RunningKafka;
  }) {
    this.simulator = parts.simulator;
    this.#folder = parts.folder;
    this.#host = parts.host;
    this.#postgres = parts.postgres;
    this.#kafka = parts.kafka;
  }

  static async start(host: string): Promise<Backends> {
    const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-cluster-'));
    // Run as root, PostgreSQL gets an OS user of its own, who must pass through.
    await chmod(folder, 0o755);
    const accessFile = path.join(folder, 'pg_hba.conf');
    await writeFile(accessFile, 'host all all all scram-sha-256\n', { mode: 0o644 });
    const postgres = await startPostgres({
      dataDirectory: path.join(folder, 'postgres'),
      port: await freePort(),
      settings: { listen_addresses: `127.0.0.1,${host}`, hba_file: accessFile },
    });
    let kafka: RunningKafka | null = null;
    try {
      kafka = await startKafka({ directory: path.join(folder, 'kafka'), host });
      await query(postgres.adminUrl('postgres'), `create database ${database}`);
      const simulator = await startProviderSimulator({ host, apiKey: 'provider-key' });
      return new Backends({ simulator, folder, host, postgres, kafka });
    } catch (error) {
      await kafka?.stop();
      await postgres.stop();
      throw error;
    }
  }

  /** The owner's URL of the system's database, for pods. */
  get databaseUrl(): string {
    const url = new URL(this.#postgres.adminUrl(database));
    url.hostname = this.#host;
    return url.href;
  }

  get brokers(): string {
    return this.#kafka.brokers;
  }

  /** Stops Kafka, and starts it again on the same data and port. */
  async restartKafka(): Promise<void> {
    const port = Number(this.brokers.split(':')[1]);
    await this.#kafka.stop();
    this.#kafka = await startKafka({ directory: path.join(this.#folder, 'kafka'), host: this.#host, port });
  }

  /** Rows of the system's database as its owner sees them. */
  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]> {
    return query<Row>(this.#postgres.adminUrl(database), sql, values);
  }

  async stop(): Promise<void> {
    await this.simulator.close();
    await this.#kafka.stop();
    await this.#postgres.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
