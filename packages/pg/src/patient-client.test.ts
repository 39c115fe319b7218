import v8 from 'node:v8';
import vm from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, type QueryResult } from 'pg';
import { Probe } from '../test/probe.ts';
import { isDatabaseOutage } from './errors.ts';
import { PatientClient, type TimedQuery } from './patient-client.ts';

let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(() => probe.stop());

async function using<Result>(client: Client, work: (client: Client) => Promise<Result>): Promise<Result> {
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const patient = (): Client => new PatientClient({ connectionString: probe.url });

describe('a statement', () => {
  it('gets its rows, as a text, with values or as a configuration', async () => {
    const rows = await using(patient(), async (client) => [
      await client.query('select 1 as n'),
      await client.query('select $1::integer as n', [2]),
      await client.query({ name: 'three', text: 'select $1::integer as n', values: [3] }),
    ]);
    expect(rows.map((result: QueryResult<{ n: number }>) => result.rows)).toEqual([
      [{ n: 1 }],
      [{ n: 2 }],
      [{ n: 3 }],
    ]);
  });

  it('rejects with what the database says', async () => {
    const failing = using(patient(), (client) => client.query('select 1 / 0'));
    await expect(failing).rejects.toMatchObject({ code: '22012' });
  });

  it('is given up after its time, as an outage; the connection goes on once it is answered', async () => {
    await using(patient(), async (client) => {
      const slow: TimedQuery = { text: 'select pg_sleep(0.5)', giveUpAfterMs: 50 };
      const error: unknown = await client.query(slow).catch((caught: unknown) => caught);
      expect(isDatabaseOutage(error)).toBe(true);
      expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
    });
  });
});

describe('what a statement brought', () => {
  const [statements, letters] = [400, 50_000];

  /** Bytes that finished statements still retain, after a collection of the young generation. */
  async function keptBytes(client: Client): Promise<number> {
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void;
    return using(client, async (connected) => {
      collect({ type: 'major' });
      const before = process.memoryUsage().heapUsed;
      for (let count = 0; count < statements; count += 1) {
        const text = String(count).padStart(letters, 'x');
        await connected.query('select length($1::text)', [text]);
        if (count % 20 === 0) collect({ type: 'minor' });
      }
      collect({ type: 'minor' });
      return process.memoryUsage().heapUsed - before;
    });
  }

  it("is let go of without the whole heap being collected, which it is not after pg's own promises", async () => {
    expect(await keptBytes(patient())).toBeLessThan((statements * letters) / 4);
  });
});
