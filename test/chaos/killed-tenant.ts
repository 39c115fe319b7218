import { describe, expect, it } from '@jest/globals';
import { auditRuns, allArrived, auditSoFar, newRuns } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';
import { unknownKey, type Outcome } from './gateway-client.ts';

/** Kills the processes at once and waits until the supervisor has brought them back. */
async function kill(chaos: ChaosSystem, names: readonly string[]): Promise<void> {
  const { length } = chaos.local.output;
  for (const name of names) chaos.local.signal(name, 'SIGKILL');
  chaos.mark(`kill -9 of ${names.join(' and ')}`);
  await chaos.within(30_000, `${names.join(' and ')} run again`, async () => {
    const since = chaos.local.output.slice(length);
    return names.every((name) => since.includes(`${name} runs again`));
  });
}

/** Waits until twenty more requests are made, two seconds' worth, and the last of them is answered. */
async function twentyMore(chaos: ChaosSystem, requests: readonly Promise<Outcome>[]): Promise<void> {
  const { length } = requests;
  await chaos.within(10_000, 'twenty more requests', async () => requests.length >= length + 20);
  await requests.at(-1);
}

/** Declares the tests of a system whose tenant and agent services are killed. */
export function killedTenant(of: () => ChaosSystem): void {
  describe('kill -9 of tenant and agent under load', () => {
    it('is not noticed by keys and agents that are known, and passes by itself for all others', () => {
      const chaos = of();
      return chaos.explain(async () => {
        const before = await auditSoFar(chaos);
        const agent = `agent:${chaos.credentials.agent_key}`;
        const known: Promise<Outcome>[] = [];
        const unknown: Promise<Outcome>[] = [];
        const provider = { chunks: 10, chunk_delay_ms: 20 };
        // They are known from their first request on.
        for (const model of [agent, 'gpt-4.1-mini']) {
          expect((await chaos.client.complete({ model })).ending).toBe('answer');
        }
        let tick = 0;
        const timer = setInterval(() => {
          tick += 1;
          const model = tick % 2 === 0 ? agent : 'gpt-4.1-mini';
          known.push(chaos.client.complete({ model, stream: tick % 3 === 0, provider }));
          if (tick % 2 === 0) unknown.push(chaos.client.complete({ key: unknownKey() }));
        }, 100);
        await twentyMore(chaos, known);
        for (const victims of [['tenant-1'], ['agent-1'], ['tenant-1', 'agent-1']]) {
          await kill(chaos, victims);
          await twentyMore(chaos, known);
        }
        clearInterval(timer);

        const answered = await Promise.all(known);
        const refused = await Promise.all(unknown);
        expect(answered.filter(({ ending }) => ending !== 'answer')).toEqual([]);
        expect(refused.filter(({ status }) => status !== 401 && status !== 503)).toEqual([]);
        const statuses = new Set(refused.map(({ status }) => status));
        expect([...statuses].sort()).toEqual([401, 503]);

        const { admin_key: adminKey } = chaos.credentials;
        await chaos.within(10_000, 'all endpoints answer', async () => {
          const routes = ['/v1/api-keys', '/v1/agents', '/v1/models', '/health'];
          const found = await Promise.all(
            routes.map((route) => chaos.client.status(route, { key: adminKey })),
          );
          return found.every((status) => status === 200);
        });
        expect((await chaos.client.complete({ key: unknownKey() })).status).toBe(401);
        await chaos.within(10_000, 'every run has its end', () => allArrived(chaos));
        const audit = await auditRuns(chaos);
        chaos.mark('audit', audit);
        expect(audit.complaints).toEqual([]);
        expect(Object.keys(newRuns(audit, before))).toEqual(['ok']);
      });
    }, 120_000);
  });
}
