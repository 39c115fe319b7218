import { once } from 'node:events';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, ChatHarness } from './chat-harness.ts';

/** A provider that answers with the members of `members`, in one piece or in a stream as it is asked. */
async function startProvider(members: () => Record<string, unknown>): Promise<Server> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { stream } = JSON.parse(Buffer.concat(pieces).toString()) as { stream?: boolean };
      const message = { role: 'assistant', content: 'Hello' };
      const { usage, ...others } = members();
      const common = { id: 'c-1', created: 1, model: 'm-1', ...others };
      if (stream !== true) {
        const choices = [{ index: 0, message, finish_reason: 'stop' }];
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      const chunk = { ...common, object: 'chat.completion.chunk' };
      const choices = [{ index: 0, delta: message, finish_reason: 'stop' }];
      response.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`);
      response.end(`data: ${JSON.stringify({ ...chunk, choices: [], usage })}\n\ndata: [DONE]\n\n`);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('the price of a run', () => {
  let harness: ChatHarness;
  let provider: Server;
  let url: string;
  let members: Record<string, unknown>;

  beforeAll(async () => {
    provider = await startProvider(() => members);
    harness = await ChatHarness.start();
    const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
    url = `http://127.0.0.1:${(await harness.startReplica({}, { base_url })).httpPort}`;
  });
  afterAll(async () => {
    await harness.stop();
    provider.closeAllConnections();
    provider.close();
  });

  const chatUsage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

  it.each<[string, Record<string, unknown>, string | null]>([
    ['text', { usage: chatUsage }, '2800000000'],
    ['text in the standard tier', { usage: chatUsage, service_tier: 'default' }, '2800000000'],
    ['the tier that served it', { usage: chatUsage, service_tier: 'priority' }, '5600000000'],
    ['a tier named in its usage', { usage: { ...chatUsage, service_tier: 'priority' } }, '5600000000'],
    ['a tier without a price', { usage: chatUsage, service_tier: 'flex' }, null],
    [
      'audio',
      {
        usage: {
          ...chatUsage,
          prompt_tokens_details: { audio_tokens: 500, cached_tokens: 0 },
          completion_tokens_details: { audio_tokens: 100 },
        },
      },
      '29000000000',
    ],
    [
      'a class without a price',
      { usage: { ...chatUsage, completion_tokens_details: { image_tokens: 1 } } },
      null,
    ],
    [
      'long prompts',
      { usage: { prompt_tokens: 300_000, completion_tokens: 1, total_tokens: 300_001 } },
      '1200012000000',
    ],
    [
      'usage in the shape of Responses',
      {
        usage: {
          input_tokens: 20_000,
          input_tokens_details: { cached_tokens: 18_000 },
          output_tokens: 100,
          total_tokens: 20_100,
        },
      },
      '13800000000',
    ],
  ])('is that of %s', async (_name, answer, costPico) => {
    members = answer;
    for (const stream of [false, true]) {
      // The tier that is asked for does not count.
      const body = chat('Hi', { model: 'priced-in-full', stream, service_tier: 'auto' });
      const response = await harness.post('/v1/chat/completions', body, { url });
      expect(response.status).toBe(200);
      await response.text();
      const run = await harness.endedRun(response.headers.get('x-run-id'));
      expect(run).toMatchObject({ status: 'ok', cost_pico: costPico, priced: costPico !== null });
      const [call] = run.spans;
      const parts = Object.values<string | undefined>(call?.cost_parts ?? {});
      expect(parts.length > 0).toBe(costPico !== null);
      expect(String(parts.reduce((sum, part) => sum + BigInt(part ?? 0), 0n))).toBe(costPico ?? '0');
    }
  });

  it('that is unknown is charged to a budget nevertheless', async () => {
    members = { usage: { ...chatUsage, completion_tokens_details: { image_tokens: 1 } } };
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const body = chat('Hi', { model: 'priced-in-full' });
    const response = await harness.post('/v1/chat/completions', body, { url, principal: { tenantId } });
    expect(response.status).toBe(200);
    await response.text();
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ cost_pico: null, priced: false });
    await eventually(() => {
      const charged = harness.settlements.filter((settlement) => settlement.tenantId === tenantId);
      // Jest can't report a bigint to its parent.
      expect(charged.reduce((sum, { costPico }) => sum + Number(costPico), 0)).toBeGreaterThan(0);
    });
  });

  it.each<[string, Record<string, unknown> | undefined, object]>([
    ['nothing', undefined, { estimated: true, input: 'counted', output: 'counted' }],
    [
      'zeros',
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      { estimated: true, input: 'counted', output: 'counted' },
    ],
    ['its input alone', { prompt_tokens: 1_000 }, { estimated: true, input: 1_000, output: 'counted' }],
    ['its output alone', { completion_tokens: 100 }, { estimated: true, input: 'counted', output: 100 }],
    ['both', chatUsage, { estimated: false, input: 1_000, output: 100 }],
  ])('counts what is missing when a provider reports %s', async (_what, usage, expected) => {
    members = { usage };
    for (const stream of [false, true]) {
      const response = await harness.post(
        '/v1/chat/completions',
        chat('Hi', { model: 'priced-in-full', stream }),
        { url },
      );
      await response.text();
      const run = await harness.endedRun(response.headers.get('x-run-id'));
      const shown = (tokens: unknown, reported: number) =>
        tokens === reported ? reported : Number(tokens) > 0 ? 'counted' : tokens;
      expect({
        estimated: run['usage_estimated'],
        input: shown(run['input_tokens'], 1_000),
        output: shown(run['output_tokens'], 100),
      }).toEqual(expected);
      expect(Number(run['cost_pico'])).toBeGreaterThan(0);
    }
  });
});
