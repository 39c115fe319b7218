import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('one trace id', () => {
  let system: LocalSystem;
  let removeState: () => Promise<void>;
  beforeAll(async () => {
    const state = await makeStateFolder();
    removeState = state.remove;
    system = new LocalSystem(state.folder, { PORT: String(await freePort()), LOG_LEVEL: 'debug' });
    await system.ready();
  });
  afterAll(async () => {
    await system.stop();
    await removeState();
  });

  it("leads from the client's traceparent through the logs of all services to the trace in analytics", async () => {
    const { url, user_key } = await system.credentials();
    const headers = { authorization: `Bearer ${user_key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      body: JSON.stringify({
        model: 'agent:assistant',
        messages: [{ role: 'user', content: 'A prompt that no log may hold.' }],
      }),
    });
    expect(answer.status).toBe(200);
    const runId = answer.headers.get('x-run-id');
    await eventually(() => {
      const services = system.output
        .split('\n')
        .filter((line) => line.includes(traceId))
        .map((line) => /"service":"(\w+)"/.exec(line)?.[1]);
      expect([...new Set(services)].sort()).toEqual(['agent', 'analytics', 'chat', 'edge', 'tenant']);
    });
    expect(system.output).not.toContain('A prompt that no log may hold.');
    await eventually(async () => {
      const page = await fetch(`${url}/v1/traces/follow?trace_id=${traceId}`, { headers });
      expect(await page.json()).toMatchObject({ traces: [{ id: runId, trace_id: traceId, status: 'ok' }] });
    });
  });
});
