import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import { usageSummary } from '@gatehouse/contract/usage';
import { eventually } from '@gatehouse/test/eventually';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type { ChaosSystem } from './chaos-system.ts';

/** Declares the tests of a system, with egress to this host, whose agent service is killed in the middle of a tool. */
export function killedAgent(of: () => ChaosSystem): void {
  describe('an agent service that is killed while it calls a tool', () => {
    let tenant: TenantAccess;
    let server: TestMcpServer;
    const called = { count: 0 };

    beforeAll(async () => {
      tenant = await of().makeTenant();
      const run = async (_args: unknown, signal: AbortSignal) => {
        called.count += 1;
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
          setTimeout(resolve, 20_000).unref();
        });
        return said('too late');
      };
      server = await TestMcpServer.start([{ name: 'slow', run }]);
    });
    afterAll(() => server.stop());

    async function call(
      path: string,
      body?: object,
    ): Promise<{ status: number; body: unknown; runId: string }> {
      const response = await fetch(of().credentials.url + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${tenant.adminKey}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return {
        status: response.status,
        body: await response.json(),
        runId: response.headers.get('x-run-id') ?? '',
      };
    }

    it('costs the run that tool alone: it ends with an answer, its true status and all of its usage', () => {
      const chaos = of();
      return chaos.explain(async () => {
        expect((await call('/v1/mcp/servers', { name: 's', url: server.url })).status).toBe(201);
        const agent = { key: 'acting', model: 'gpt-4.1-mini', tools: { mcp_servers: ['s'] } };
        expect((await call('/v1/agents', agent)).status).toBe(201);
        const answered = call('/v1/chat/completions', {
          model: 'agent:acting',
          messages: [{ role: 'user', content: 'Go.' }],
          x_simulator: { tool_calls: [{ name: 's__slow', arguments: {} }] },
        });
        await chaos.within(20_000, 'the tool is being called', () => Promise.resolve(called.count === 1));
        chaos.local.signal('agent-1', 'SIGKILL');
        chaos.mark('agent-1 is killed');
        const { status, body, runId } = await answered;
        expect([status, body]).toMatchObject([200, { choices: [{ finish_reason: 'stop' }] }]);
        const { usage } = body as { usage: { prompt_tokens: number; completion_tokens: number } };
        await eventually(async () => {
          const trace = (await call(`/v1/traces/${runId}`)).body as Trace;
          expect(trace).toMatchObject({
            ...{ status: 'ok', input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens },
          });
          const spans = trace.spans?.map(({ kind, status: each }) => `${kind} ${each}`).toSorted();
          expect(spans).toEqual(['llm ok', 'llm ok', 'tool error']);
        });
        await eventually(async () => {
          const { totals } = usageSummary.parse((await call('/v1/usage/summary')).body);
          expect([totals.requests, totals.tool_calls]).toEqual([1, 1]);
        });
      });
    }, 120_000);
  });
}
