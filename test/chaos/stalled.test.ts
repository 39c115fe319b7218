import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import { sleep } from '@gatehouse/kit/clock';
import type { Usage } from '@gatehouse/test/provider-simulator/chat-answer';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';
import { Follower } from './follower.ts';

const stallMs = 20_000;
const streams = 40;
/** Of gpt-4.1-mini in deploy/local/models.yaml: pico-USD per token of input and output. */
const prices = { input: 400_000n, output: 1_600_000n };

let chaos: ChaosSystem;
let follower: Follower;
beforeAll(async () => {
  chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'chat=2' });
  follower = new Follower(chaos.credentials.url, chaos.credentials.user_key);
  follower.start();
});
afterAll(async () => {
  await follower.stop();
  await chaos.stop();
});

interface RunRow {
  id: string;
  session_id: string;
  status: string;
  corrected: boolean;
  usage_estimated: boolean;
  input_tokens: number;
  output_tokens: number;
  cost_pico: string;
}

async function runRows(): Promise<RunRow[]> {
  return chaos.rows<RunRow>(
    `select id, session_id, status, corrected, usage_estimated, input_tokens::float8 as input_tokens,
            output_tokens::float8 as output_tokens, cost_pico::text as cost_pico
     from analytics.traces where session_id is not null`,
  );
}

async function get(path: string): Promise<unknown> {
  const response = await fetch(`${chaos.credentials.url}${path}`, {
    headers: { authorization: `Bearer ${chaos.credentials.user_key}` },
  });
  return response.json();
}

describe(`a replica that stands still for ${stallMs / 1_000} s under ${streams} streams beside a second one`, () => {
  it(
    'has the ledger of the provider afterwards: traces, usage and costs, to the last digit',
    () =>
      chaos.explain(async () => {
        const asked = Array.from({ length: streams }, (_, index) =>
          chaos.client.complete({
            stream: true,
            user: ['ann', 'bob', 'eve'][index % 3] ?? 'ann',
            provider: { chunks: 250, chunk_delay_ms: 100 + index },
          }),
        );
        await chaos.within(20_000, 'the streams have begun', async () => {
          return chaos.simulator.requests.filter(({ chunks_sent: sent }) => sent > 5).length >= streams;
        });
        chaos.local.signal('chat-2', 'SIGSTOP');
        chaos.mark('chat-2 stands still');
        await sleep(stallMs);
        await chaos.within(20_000, 'its runs were ended as interrupted', async () => {
          return (await runRows()).some(({ status }) => status === 'interrupted');
        });
        const interrupted = (await runRows()).filter(({ status }) => status === 'interrupted');
        chaos.local.signal('chat-2', 'SIGCONT');
        chaos.mark('chat-2 goes on', { interrupted: interrupted.length });
        const outcomes = await Promise.all(asked);
        expect(outcomes.map(({ ending }) => ending)).toEqual(outcomes.map(() => 'answer'));
        expect(interrupted.length).toBeGreaterThan(streams / 5);

        await chaos.within(60_000, 'every run has its end and has arrived', () => allArrived(chaos));
        const rows = await runRows();
        expect(rows.filter(({ status, usage_estimated: guess }) => status !== 'ok' || guess)).toEqual([]);
        expect(new Set(rows.filter(({ corrected }) => corrected).map(({ id }) => id))).toEqual(
          new Set(interrupted.map(({ id }) => id)),
        );
        expect((await auditRuns(chaos)).complaints).toEqual([]);

        // What the provider counted.
        const ledger = new Map(chaos.simulator.ledger().requests.map((row) => [row.id, row.usage as Usage]));
        const charged = rows.map((row) => ({ row, usage: ledger.get(row.session_id) }));
        for (const { row, usage } of charged)
          expect(row).toMatchObject({
            input_tokens: usage?.prompt_tokens,
            output_tokens: usage?.completion_tokens,
          });
        const sum = (of: (usage: Usage) => number): number =>
          charged.reduce((total, { usage }) => total + (usage === undefined ? 0 : of(usage)), 0);
        const [input, output] = [
          sum((usage) => usage.prompt_tokens),
          sum((usage) => usage.completion_tokens),
        ];
        const usage = usageSummary.parse(await get('/v1/usage/summary?group_by=user,model'));
        expect(usage.totals).toMatchObject({
          ...{ requests: streams, errors: 0, input_tokens: input, output_tokens: output, unique_users: 3 },
        });
        expect(usage.groups).toHaveLength(3);
        const costs = costSummary.parse(await get('/v1/costs/summary'));
        const pico = BigInt(input) * prices.input + BigInt(output) * prices.output;
        expect(BigInt(costs.total_usd.replace('.', ''))).toBe(pico);
        expect(costs.estimated.requests).toBe(0);

        // Followers saw each of them once more, with its exact end.
        await chaos.within(10_000, 'followers have the exact ends', async () =>
          rows.every(({ id }) => follower.latest.get(id)?.status === 'ok'),
        );
        expect(follower.complaints).toEqual([]);
        expect(follower.corrected).toEqual(new Set(interrupted.map(({ id }) => id)));
      }),
    150_000,
  );
});
