import { readFile } from 'node:fs/promises';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import type { Pool } from 'pg';
import { eventually } from '@gatehouse/test/eventually';
import { localDatabaseUrl } from '@gatehouse/test/local-database';
import { LocalSystem } from '@gatehouse/test/local-system';
import { openPool } from '@gatehouse/test/query';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { makeUsedStateFolder } from '@gatehouse/test/used-state';
import { GatewayClient } from './gateway-client.ts';

const tailChars = 6_000;
const pollMs = 100;

/** Settings of a system of many processes: each connection reads PostgreSQL's catalogue and plans statements for itself. */
export const fewConnections = { DATABASE_POOL: '4' };

/**
 * `make up` with its provider in the test process, where no fault of the system reaches it: what the provider saw is
 * the truth that the system's own records are held against.
 */
export class ChaosSystem {
  readonly local: LocalSystem;
  readonly simulator: ProviderSimulator;
  readonly credentials: LocalCredentials;
  /** With the demo tenant's user key. */
  readonly client: GatewayClient;
  readonly #database: Pool;
  readonly #remove: () => Promise<void>;
  readonly #startedAt = performance.now();
  readonly #marks: string[] = [];

  private constructor(
    parts: Pick<ChaosSystem, 'local' | 'simulator' | 'credentials'> & {
      database: Pool;
      remove: () => Promise<void>;
    },
  ) {
    this.local = parts.local;
    this.simulator = parts.simulator;
    this.credentials = parts.credentials;
    this.client = new GatewayClient(parts.credentials.url, parts.credentials.user_key);
    this.#database = parts.database;
    this.#remove = parts.remove;
  }

  /** `asked`: settings, which may depend on the provider. */
  static async start(
    asked: Record<string, string> | ((simulator: ProviderSimulator) => Promise<Record<string, string>>) = {},
  ): Promise<ChaosSystem> {
    const { folder, remove } = await makeUsedStateFolder();
    const simulator = await startProviderSimulator({ apiKey: 'provider-key' });
    const settings = typeof asked === 'function' ? await asked(simulator) : asked;
    const local = new LocalSystem(folder, {
      // Three processes in a row at most.
      PORT: String(await freePort(3)),
      OPENAI_BASE_URL: simulator.baseUrl,
      OPENAI_API_KEY: 'provider-key',
      ANTHROPIC_BASE_URL: new URL(simulator.baseUrl).origin,
      ANTHROPIC_API_KEY: 'provider-key',
      GOOGLE_GEMINI_BASE_URL: new URL(simulator.baseUrl).origin,
      GEMINI_API_KEY: 'provider-key',
      LOG_LEVEL: 'warn',
      // Services are killed one by one. GATEHOUSE_REPLICAS says it too.
      ...(settings['GATEHOUSE_REPLICAS'] === undefined && { GATEHOUSE_PROCESSES: 'separate' }),
      ...settings,
    });
    try {
      const credentials = await local.ready();
      const database = openPool(await localDatabaseUrl(folder));
      const chaos = new ChaosSystem({ local, simulator, credentials, database, remove });
      // Deletes dead instances of the run before on its state.
      await chaos.rows('delete from chat.instances where dead_at is not null');
      return chaos;
    } catch (error) {
      await local.stop().catch(() => undefined);
      await simulator.close();
      await remove();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.local.stop();
    await this.#database.end();
    await this.simulator.close();
    await this.#remove();
  }

  /** A new tenant with an admin key and a user key. */
  makeTenant(settings: Record<string, unknown> = {}): Promise<TenantAccess> {
    return makeTenant({ url: this.credentials.url, ownerKey: this.credentials.owner_key }, settings);
  }

  /** Rows of the system's database as the superuser sees them. */
  async rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]> {
    return (await this.#database.query<Row>(sql, values)).rows;
  }

  /** The highest resident memory that a process had since it started, in MiB. */
  async peakMemory(name: string): Promise<number> {
    const { pid } = this.local.processOf(name);
    const status = await readFile(`/proc/${pid ?? 0}/status`, 'utf8');
    const mebibytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
    this.mark(`peak memory of ${name} is ${mebibytes.toFixed(0)} MiB`);
    return mebibytes;
  }

  /** Notes when something happened, and what was found, for the report of a failure. */
  mark(what: string, details?: object): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    this.#marks.push(`${seconds} s: ${what}${details === undefined ? '' : ` ${JSON.stringify(details)}`}`);
  }

  /**
   * Runs a test's body; when it fails, or is not over in time, says what happened when and what the system printed last.
   * `mostMs` is less than the time-out of the test, which explains nothing.
   */
  async explain(body: () => Promise<void>, mostMs?: number): Promise<void> {
    const over = new AbortController();
    try {
      await Promise.race([body(), ...(mostMs === undefined ? [] : [tooLate(mostMs, over.signal)])]);
    } catch (error) {
      const story = [...this.#marks, '', this.local.output.slice(-tailChars)].join('\n');
      // The matcher's own message stays first: it is what the reader looks for.
      (error as Error).message += `\n\nWhat happened:\n${story}`;
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Waits until the condition holds and returns after how many milliseconds it did. */
  async within(timeoutMs: number, what: string, condition: () => Promise<boolean>): Promise<number> {
    const start = performance.now();
    await eventually(
      async () => {
        if (!(await condition())) throw new Error(`not in ${timeoutMs} ms: ${what}`);
      },
      timeoutMs,
      pollMs,
    );
    this.mark(what);
    return performance.now() - start;
  }
}

async function tooLate(mostMs: number, signal: AbortSignal): Promise<void> {
  await sleep(mostMs, signal);
  throw new Error(`not over in ${mostMs / 1_000} s`);
}
