import { availableParallelism, cpus } from 'node:os';
import { freePort } from '@gatehouse/local/ports';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { startProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { Receiver } from '@gatehouse/test/receiver';
import { makeTenant } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import { Agent, request } from 'undici';
import { arrivals, percentiles, type Latencies } from './load.ts';

/**
 * `make bench`: how soon messages of a channel are acknowledged at 100/s, beside the agent's answers to them: when it
 * answers at once, and when it takes five seconds. All of it runs on this machine: the gateway, the provider of its
 * models, the sender and the receiver of replies. BENCH_SECONDS (10) sets the length of each part.
 */

const perSecond = 100;
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const people = 100;
const slowMs = 5_000;
const longestMs = 500;

const { folder, remove } = await makeStateFolder();
const receiver = await Receiver.start();
const simulator = await startProviderSimulator({ record: false });
const local = new LocalSystem(folder, {
  PORT: String(await freePort()),
  LOG_LEVEL: 'error',
  EGRESS_ALLOW: '127.0.0.1',
  OPENAI_BASE_URL: simulator.baseUrl,
  OPENAI_API_KEY: 'any',
});
const agent = new Agent({ connections: 128, pipelining: 1 });
try {
  const { url, owner_key: ownerKey } = await local.ready();
  const { adminKey } = await makeTenant({ url, ownerKey });
  const post = async (path: string, body: object): Promise<{ id: string; secret: string }> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const made = await request(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (made.statusCode !== 201) throw new Error(`${path}: ${made.statusCode}`);
    return (await made.body.json()) as { id: string; secret: string };
  };
  const { id: agent_id } = await post('/v1/agents', { key: 'bench', model: 'gpt-4.1-mini' });
  const config = { callback_url: receiver.url('/') };
  const channel = await post('/v1/channels/instances', { name: 'Bench', agent_id, type: 'generic', config });

  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})\n`,
  );
  console.log(`messages of a channel at ${perSecond}/s for ${seconds} s           p50 ms   p99 ms`);
  await acknowledged(url, channel, 3);
  report('  acknowledged, the agent answers at once', await acknowledged(url, channel, seconds));
  simulator.setFault({ delay_ms: slowMs });
  report(`  acknowledged, the agent takes ${slowMs / 1_000} s`, await acknowledged(url, channel, seconds));
} finally {
  await agent.close();
  await local.stop();
  await simulator.close();
  await receiver.stop();
  await remove();
}

/** Providers that wait for longer repeat a message, or take the channel for dead. */
function report(what: string, { p50, p99 }: Latencies): void {
  console.log(what.padEnd(56) + p50.toFixed(1).padStart(9) + p99.toFixed(1).padStart(9));
  if (p99 <= longestMs) return;
  console.log(`  more than ${longestMs} ms`);
  process.exitCode = 1;
}

/** How long messages of different people take until they are acknowledged. */
async function acknowledged(
  url: string,
  { id: channelId, secret }: { id: string; secret: string },
  forSeconds: number,
): Promise<Latencies> {
  const latencies: number[] = [];
  await arrivals({ perSecond, seconds: forSeconds }, async (index, dueAt) => {
    const [id, person] = [`msg_${dueAt}_${index}`, index % people];
    const body = JSON.stringify({
      ...{ message_id: id, conversation_id: `with-${person}`, user: { id: `user-${person}` } },
      text: `Where is my order ${index}?`,
    });
    const signature = signed({ scheme: 'standard', secret }, body, { id });
    const answer = await request(`${url}/v1/webhooks/message?channel=${channelId}`, {
      ...{ method: 'POST', body, dispatcher: agent },
      headers: { 'content-type': 'application/json', ...signature },
    });
    await answer.body.dump();
    if (answer.statusCode !== 202) throw new Error(`a message was answered with ${answer.statusCode}`);
    latencies.push(performance.now() - dueAt);
  });
  return percentiles(latencies);
}
