import { availableParallelism, cpus } from 'node:os';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { startProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { makeTenant } from '@gatehouse/test/tenants';
import { percentiles, type Latencies } from './load.ts';
import { cpuMs } from './processes.ts';

/**
 * `make bench`: what tools add to a turn, one request at a time, in turns: an agent without tools, one with tools that
 * its model does not call, and one whose model calls one tool. Beside them what a call of the tool and of the model take
 * without the gateway. Then the processor time of a turn of an agent with as many tools as fit. All of it runs on this
 * machine. BENCH_REQUESTS (300) sets the number of requests of each kind.
 */

const requests = Number(process.env['BENCH_REQUESTS'] ?? 300);
const warmUp = 30;
const mostAddedMs = 15;

/** Two servers with so many tools of 60 kB fill an agent. */
const largeTools = Array.from({ length: 17 }, (_, n) => {
  const property = { type: 'string', description: 'A part of a message that the tool sends. '.repeat(6) };
  const names = Array.from({ length: 200 }, (_, index) => [`property_${index}`, property] as const);
  return {
    name: `large_${n}`,
    inputSchema: { type: 'object' as const, properties: Object.fromEntries(names) },
  };
});

const { folder, remove } = await makeStateFolder();
const largeServer = await TestMcpServer.start(largeTools);
const server = await TestMcpServer.start([{ name: 'time', run: () => said('It is noon.') }]);
const simulator = await startProviderSimulator({ record: false });
const local = new LocalSystem(folder, {
  GATEHOUSE_REPLICAS: 'all=1',
  PORT: String(await freePort()),
  LOG_LEVEL: 'error',
  EGRESS_ALLOW: '127.0.0.1',
  OPENAI_BASE_URL: simulator.baseUrl,
  OPENAI_API_KEY: 'any',
});
const client = new Client({ name: 'bench', version: '1.0.0' });
try {
  const { url, owner_key: ownerKey } = await local.ready();
  const { adminKey, userKey } = await makeTenant({ url, ownerKey });
  const post = async (to: string, key: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${to}: ${answer.status}`);
  };
  const model = 'gpt-4.1-mini';
  await post(`${url}/v1/mcp/servers`, adminKey, { name: 's', url: server.url });
  await post(`${url}/v1/agents`, adminKey, { key: 'plain', model });
  await post(`${url}/v1/agents`, adminKey, { key: 'tools', model, tools: { mcp_servers: ['s'] } });
  for (const name of ['l', 'm'])
    await post(`${url}/v1/mcp/servers`, adminKey, { name, url: largeServer.url });
  await post(`${url}/v1/agents`, adminKey, { key: 'large', model, tools: { mcp_servers: ['l', 'm'] } });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));

  const messages = [{ role: 'user', content: 'What time is it?' }];
  const complete = (of: string, instructions: object): Promise<void> =>
    post(`${url}/v1/chat/completions`, userKey, { model: of, messages, x_simulator: instructions });
  const oneCall = { tool_calls: [{ name: 's__time', arguments: {} }] };
  const kinds: Record<string, () => Promise<unknown>> = {
    'a call of the model alone': () =>
      post(`${simulator.baseUrl}/chat/completions`, 'any', { model, messages }),
    'a call of the tool alone': () => client.callTool({ name: 'time', arguments: {} }),
    'an agent without tools': () => complete('agent:plain', { content: 'Noon.' }),
    'an agent that calls none of its tools': () => complete('agent:tools', { content: 'Noon.' }),
    'an agent that calls one tool': () => complete('agent:tools', oneCall),
  };
  const taken = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]));
  for (let round = 0; round < warmUp + requests; round += 1)
    for (const [kind, run] of Object.entries(kinds)) {
      const began = performance.now();
      await run();
      if (round >= warmUp) taken.get(kind)?.push(performance.now() - began);
    }

  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})\n`,
  );
  console.log(`${requests} requests of each kind, one at a time`.padEnd(56) + '   p50 ms   p99 ms');
  const found = new Map<string, Latencies>();
  for (const [kind, times] of taken) {
    const latencies = percentiles(times);
    found.set(kind, latencies);
    console.log(`  ${kind}`.padEnd(56) + format(latencies.p50) + format(latencies.p99));
  }
  const p50 = (kind: keyof typeof kinds): number => found.get(kind)?.p50 ?? 0;
  const added =
    p50('an agent that calls one tool') -
    p50('an agent that calls none of its tools') -
    p50('a call of the model alone') -
    p50('a call of the tool alone');
  console.log('  one call adds, beyond the tool and the model'.padEnd(56) + format(added));
  if (added > mostAddedMs) {
    console.log(`  more than ${mostAddedMs} ms`);
    process.exitCode = 1;
  }

  const { pid } = local.processOf('gatehouse-1');
  const cpuOf = async (agent: string): Promise<number> => {
    for (let round = 0; round < warmUp; round += 1) await complete(agent, { content: 'Noon.' });
    const before = cpuMs(pid ?? 0);
    for (let round = 0; round < requests; round += 1) await complete(agent, { content: 'Noon.' });
    return (cpuMs(pid ?? 0) - before) / requests;
  };
  console.log('Processor time of the gateway, in ms a turn');
  for (const [kind, agent] of Object.entries({
    'an agent without tools': 'agent:plain',
    'an agent with 2 MB of tools': 'agent:large',
  }))
    console.log(`  ${kind}`.padEnd(56) + format(await cpuOf(agent)));
} finally {
  await client.close();
  await local.stop();
  await simulator.close();
  await server.stop();
  await largeServer.stop();
  await remove();
}

function format(ms: number): string {
  return ms.toFixed(1).padStart(9);
}
