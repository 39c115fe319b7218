import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { eventually } from '@gatehouse/test/eventually';
import { boundedFetch } from './bounded-fetch.ts';
import { MessageReader } from './message-reader.ts';

const MiB = 1024 * 1024;
const pieceBytes = 64 * 1024;
const limits = { perTenant: 4 * MiB, perProcess: 8 * MiB };
const url = 'https://mcp.example.com';

/** A body of 3 MiB whose server sends pieces as they are read, and stops for good after `stopsAfter` bytes. */
class SlowBody {
  sent = 0;
  left = false;
  readonly #text: Buffer;
  readonly #stopsAfter: number;
  readonly type: string;

  constructor(type: string, stopsAfter = Infinity) {
    this.type = type;
    this.#stopsAfter = stopsAfter;
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { more: 'x'.repeat(3 * MiB) } });
    this.#text = Buffer.from(type === 'text/event-stream' ? `data: ${message}\n\n` : message);
  }

  send = (): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (this.sent >= this.#stopsAfter) await new Promise(() => undefined);
          const piece = this.#text.subarray(this.sent, this.sent + pieceBytes);
          this.sent += piece.length;
          if (piece.length > 0) controller.enqueue(piece);
          else controller.close();
        },
        cancel: () => {
          this.left = true;
        },
      },
      { highWaterMark: 0 },
    );
    return Promise.resolve(new Response(body, { headers: { 'content-type': this.type } }));
  };
}

describe.each(['application/json', 'text/event-stream'])('large bodies of %s', (type) => {
  let clock: { now: number };
  let reader: MessageReader;
  let left: AbortController;
  let faults: unknown[];
  const whole: string[] = [];

  beforeEach(() => {
    clock = { now: 0 };
    reader = new MessageReader(new AnswerBudget({ ...limits, now: () => clock.now }));
    left = new AbortController();
    faults = [];
    whole.splice(0);
  });
  afterEach(() => left.abort(new Error('the test is over')));

  async function call(tenantId: string, body: SlowBody, signal = left.signal): Promise<string> {
    const onFault = (error: unknown): void => void faults.push(error);
    const fetch = boundedFetch(body.send, { tenantId, reader, timeoutMs: 60_000, onFault });
    const text = await (await fetch(url, { method: 'POST', signal })).text();
    whole.push(tenantId);
    return text;
  }
  const stuck = (): SlowBody => new SlowBody(type, 2 * MiB);

  it('are all read, and never take more of memory than their tenant and all may have', async () => {
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, reader.answers.bytes);
    }, 0);
    const bodies = Array.from({ length: 24 }, () => new SlowBody(type));
    const texts = await Promise.all(bodies.map((body, n) => call(n % 2 === 0 ? 'a' : 'b', body)));
    clearInterval(watch);
    for (const text of texts) expect(text).toContain('"id":1');
    // Each that waits has a piece beyond what isn't counted; 24 bodies are 72 MiB.
    expect(most).toBeGreaterThan(3 * MiB);
    expect(most).toBeLessThan(limits.perProcess + 3 * MiB + 24 * 3 * pieceBytes);
    expect([reader.answers.bytes, reader.answers.waiting]).toEqual([0, 0]);
  });

  it('wait for those of their own tenant, whose servers are slow, and not for those of others', async () => {
    const slow = [stuck(), stuck(), stuck()];
    const ended = slow.map((body) => call('a', body).catch((error: unknown) => error));
    await eventually(() => expect(reader.answers.waiting).toBe(2));
    expect(await call('b', new SlowBody(type))).toContain('"id":1');
    expect(whole).toEqual(['b']);
    left.abort(new Error('gone'));
    await Promise.all(ended);
    await eventually(() => expect(slow.map((body) => body.left)).toEqual([true, true, true]));
    expect([reader.answers.bytes, reader.answers.waiting]).toEqual([0, 0]);
  });

  it('of three tenants, whose servers are slow, leave room for those of a fourth', async () => {
    reader = new MessageReader(new AnswerBudget({ perTenant: 8 * MiB, perProcess: 24 * MiB }));
    const slow = ['a', 'b', 'c'].flatMap((tenantId) =>
      Array.from({ length: 6 }, () => ({ tenantId, body: stuck() })),
    );
    const ended = slow.map(({ tenantId, body }) => call(tenantId, body).catch((error: unknown) => error));
    await eventually(() => expect(reader.answers.waiting).toBeGreaterThan(5));
    expect(await call('d', new SlowBody(type))).toContain('"id":1');
    expect(whole).toEqual(['d']);
    left.abort(new Error('gone'));
    await Promise.all(ended);
    await eventually(() => expect([reader.answers.bytes, reader.answers.waiting]).toEqual([0, 0]));
  });

  it('are given up when a server is slow while others wait for the memory, and not before', async () => {
    const slow = [stuck(), stuck()];
    const ended = slow.map((body) => call('a', body).then(String, (error: unknown) => error));
    await eventually(() => expect(slow.every(({ sent }) => sent >= 2 * MiB)).toBe(true));
    clock.now += 60_000;
    reader.answers.cutSlowClients();
    const next = call('a', new SlowBody(type));
    await eventually(() => expect(reader.answers.waiting).toBe(1));
    expect(whole).toEqual([]);
    reader.answers.cutSlowClients();
    expect(await next).toContain('"id":1');
    const [first] = await Promise.all(ended);
    expect(first).toMatchObject({ kind: 'busy', message: expect.stringContaining('too many large') });
    expect(slow[0]?.left).toBe(true);
    expect(faults.length).toBe(type === 'text/event-stream' ? 2 : 0);
  });
});
