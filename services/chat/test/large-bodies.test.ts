import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { chat, ChatHarness } from './chat-harness.ts';

const MiB = 1024 * 1024;
/** A quarter of what the process allows by default, so that bodies may be a quarter as large. */
const settings = { BODY_BYTES_PER_TENANT: 12 * MiB, BODY_BYTES_PER_PROCESS: 24 * MiB };

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({}, {}, {}, settings);
});
afterAll(async () => harness.stop());

it('large bodies count until the answer begins: streams under way keep no other request out', async () => {
  const leave = new AbortController();
  const endless = { stream: true, x_simulator: { chunks: 2_000, chunk_delay_ms: 50 } };
  const large = chat('x'.repeat(4.75 * MiB), endless);
  // Together they have more than the 12 MiB of a tenant.
  for (let request = 0; request < 4; request += 1) {
    const response = await harness.post('/v1/chat/completions', large, { signal: leave.signal });
    expect(response.status).toBe(200);
    await response.body?.getReader().read();
  }
  leave.abort();
});

it('large bodies of a tenant that come together wait for each other', async () => {
  const large = chat('x'.repeat(3 * MiB), { x_simulator: { delay_ms: 300 } });
  const principal = { tenantId: newId() };
  const post = async (): Promise<number> =>
    (await harness.post('/v1/chat/completions', large, { principal })).status;
  // More would wait for longer than they may on a slow machine.
  expect(await Promise.all(Array.from({ length: 6 }, post))).toEqual(Array(6).fill(200));
});

it('large bodies of two tenants leave room for that of a third one', async () => {
  const leave = new AbortController();
  const large = (delayMs: number): unknown =>
    chat('x'.repeat(2.75 * MiB), { x_simulator: { delay_ms: delayMs } });
  const slow = JSON.stringify(large(60_000));
  const held = [newId(), newId()].flatMap((tenantId) =>
    Array.from({ length: 4 }, () =>
      harness.post('/v1/chat/completions', slow, { principal: { tenantId }, signal: leave.signal }),
    ),
  );
  const all = Promise.allSettled(held);
  // Until no more of theirs comes.
  for (let before = -1, bytes = 0; bytes > before || bytes < 15 * MiB;) {
    await sleep(500);
    before = bytes;
    bytes = Number(/^gatehouse_body_bytes\S* (\S+)/m.exec(await harness.metrics())?.[1]);
  }
  expect((await harness.post('/v1/chat/completions', large(0))).status).toBe(200);
  leave.abort();
  await all;
});

it('a body of too many JSON values is a 413, and of too many members a 400', async () => {
  const status = async (body: string): Promise<number> =>
    (await harness.post('/v1/chat/completions', body)).status;
  const start = '{"model":"small","messages":[{"role":"user","content":"hi"}],';
  expect(await status(`${start}"x":[${'[],'.repeat(1_000_000)}[]]}`)).toBe(413);
  expect(await status(`${start}"x":${'['.repeat(600_000)}${']'.repeat(600_000)}}`)).toBe(413);
  expect(await status(`${start}${Array.from({ length: 1_001 }, (_, n) => `"m${n}":1`).join()}}`)).toBe(400);
});
