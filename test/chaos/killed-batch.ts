import { describe, expect, it } from '@jest/globals';
import { costSummary } from '@gatehouse/contract/usage';
import { picoOf } from '@gatehouse/kit/money';
import OpenAI, { APIError, toFile } from 'openai';
import { allArrived } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';

const requests = 1_000;
/** Pico-USD per token in batches, half of those in deploy/local/models.yaml. */
const inputPrice = 200_000n;
const outputPrice = 800_000n;
/** From the kill of a replica to its successor's look at the batch. */
const takenOverWithinMs = 60_000;

/** Declares the tests of a system whose only replica of chat is killed while it works on a batch. */
export function killedBatch(of: () => ChaosSystem): void {
  describe('kill -9 of chat as it uploads, begins, reads and prices a batch of 1,000 requests', () => {
    it('leaves one batch of the tenant, which is priced once and to the last digit', async () => {
      const chaos = of();
      const { batches } = chaos.simulator;
      try {
        await chaos.explain(() => priceOnce(chaos));
      } finally {
        batches.clear();
      }
    }, 400_000);
  });
}

async function priceOnce(chaos: ChaosSystem): Promise<void> {
  const { batches } = chaos.simulator;
  const { id: tenantId, adminKey, userKey } = await chaos.makeTenant();
  const client = new OpenAI({ apiKey: userKey, baseURL: `${chaos.credentials.url}/v1`, maxRetries: 0 });
  const text = Array.from({ length: requests }, (_, n) => lineOf(n)).join('');

  const upload = async () =>
    client.files.create({ file: await toFile(Buffer.from(text), 'requests.jsonl'), purpose: 'batch' });
  await killAt(chaos, 'POST files', () => expectAway(upload()));
  expect((await client.files.list()).data).toEqual([]);
  const file = await upload();

  const create = async (): Promise<unknown> =>
    client.batches.create({
      ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    });
  await killAt(chaos, 'POST batches', () => expectAway(create()));
  const lookAgain = async (): Promise<void> => {
    // Its lease and the pause until the next look are over at once.
    await chaos.rows('update chat.batches set due_at = now() where tenant_id = $1 and ended_at is null', [
      tenantId,
    ]);
  };

  // Two replicas die, one before it has the results, and one when it has just got them.
  await killAt(chaos, 'GET files/id/content', lookAgain);
  await killAt(chaos, 'GET files/id/content', lookAgain, { answers: true });
  await chaos.within(takenOverWithinMs, 'the batch has ended', async () => {
    await lookAgain();
    const list = await client.batches.list().catch(() => null);
    return list?.data[0]?.status === 'completed';
  });
  const { data } = await client.batches.list();
  expect(data).toHaveLength(1);
  expect(data[0]?.request_counts).toEqual({ total: requests, completed: requests, failed: 0 });
  expect(batches.batches.size).toBe(1);

  await chaos.within(60_000, 'its run has arrived', () => allArrived(chaos));
  const runs = await chaos.rows<{ status: string; cost_pico: string }>(
    'select status, cost_pico::text from analytics.traces where tenant_id = $1',
    [tenantId],
  );
  const { input, output } = batches.usage;
  const cost = BigInt(input) * inputPrice + BigInt(output) * outputPrice;
  expect(runs).toEqual([{ status: 'ok', cost_pico: String(cost) }]);
  const response = await fetch(`${chaos.credentials.url}/v1/costs/summary`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  expect(picoOf(costSummary.parse(await response.json()).total_usd)).toBe(cost);
}

function lineOf(n: number): string {
  const messages = [{ role: 'user', content: `say ${n}` }];
  const body = { model: 'gpt-4.1-mini', messages, max_tokens: (n % 7) + 1 };
  return `${JSON.stringify({ custom_id: String(n), method: 'POST', url: '/v1/chat/completions', body })}\n`;
}

/** Kills chat once `work` has made it send such a request: before the provider answers, or with `answers` just after. */
async function killAt(
  chaos: ChaosSystem,
  request: string,
  work: () => Promise<unknown>,
  { answers = false } = {},
): Promise<void> {
  const { batches } = chaos.simulator;
  const asked = Promise.withResolvers<null>();
  const answered = Promise.withResolvers<null>();
  batches.answersAfter = (name) => {
    if (name !== request) return null;
    asked.resolve(null);
    return answered.promise;
  };
  const { pid } = chaos.local.processOf('chat-1');
  const working = work();
  await Promise.race([asked.promise, working.then(() => asked.promise)]);
  if (answers) answered.resolve(null);
  chaos.local.signal('chat-1', 'SIGKILL');
  await working;
  batches.answersAfter = () => null;
  answered.resolve(null);
  await chaos.within(30_000, `chat was killed at ${request} and runs again`, async () => {
    const now = chaos.local.processOf('chat-1').pid;
    return now !== null && now !== pid && (await chaos.client.complete()).ending === 'answer';
  });
  chaos.mark(`chat was killed at ${request}`, { answers });
}

/** The call fails as one does whose service is away. */
async function expectAway(call: Promise<unknown>): Promise<void> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(APIError);
  expect((error as APIError).status ?? 503).toBeGreaterThanOrEqual(500);
}
