import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { chat, ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

it('large bodies count until the answer begins: streams under way keep no other request out', async () => {
  const leave = new AbortController();
  const endless = { stream: true, x_simulator: { chunks: 2_000, chunk_delay_ms: 50 } };
  const large = chat('x'.repeat(19 * 1024 * 1024), endless);
  // Together they have more than the 48 MiB of a tenant.
  for (let request = 0; request < 4; request += 1) {
    const response = await harness.post('/v1/chat/completions', large, { signal: leave.signal });
    expect(response.status).toBe(200);
    await response.body?.getReader().read();
  }
  leave.abort();
});

it('large bodies of a tenant that come together wait for each other', async () => {
  const large = chat('x'.repeat(12 * 1024 * 1024), { x_simulator: { delay_ms: 300 } });
  const principal = { tenantId: newId() };
  const post = async (): Promise<number> =>
    (await harness.post('/v1/chat/completions', large, { principal })).status;
  expect(await Promise.all(Array.from({ length: 10 }, post))).toEqual(Array(10).fill(200));
});

it('a body of too many JSON values is a 413, and of too many members a 400', async () => {
  const status = async (body: string): Promise<number> =>
    (await harness.post('/v1/chat/completions', body)).status;
  const start = '{"model":"small","messages":[{"role":"user","content":"hi"}],';
  expect(await status(`${start}"x":[${'[],'.repeat(1_000_000)}[]]}`)).toBe(413);
  expect(await status(`${start}"x":${'['.repeat(600_000)}${']'.repeat(600_000)}}`)).toBe(413);
  expect(await status(`${start}${Array.from({ length: 1_001 }, (_, n) => `"m${n}":1`).join()}}`)).toBe(400);
});
