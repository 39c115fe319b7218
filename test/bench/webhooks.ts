import { availableParallelism, cpus } from 'node:os';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { Receiver } from '@gatehouse/test/receiver';
import { makeTenant } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import { Agent, request } from 'undici';
import { arrivals, percentiles, type Latencies } from './load.ts';

/**
 * `make bench`: how soon deliveries of webhooks are acknowledged at 200/s, and how late results arrive at ten receivers
 * when all answer and when one of them hangs. All of it runs on this machine: the gateway with the bundled simulator,
 * the senders and the receivers. BENCH_SECONDS (10) sets the length of each part.
 */

const perSecond = 200;
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const targets = 10;
const patienceMs = 180_000;

interface Endpoint {
  id: string;
  secret: string;
}

const { folder, remove } = await makeStateFolder();
const receivers = await Promise.all(Array.from({ length: targets }, () => Receiver.start()));
const local = new LocalSystem(folder, {
  PORT: String(await freePort()),
  LOG_LEVEL: 'error',
  EGRESS_ALLOW: '127.0.0.1',
});
const agent = new Agent({ connections: 128, pipelining: 1 });
try {
  const { url, owner_key: ownerKey } = await local.ready();
  const { adminKey } = await makeTenant({ url, ownerKey });
  const post = async (path: string, body: object): Promise<Endpoint> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const made = await request(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (made.statusCode !== 201) throw new Error(`${path}: ${made.statusCode}`);
    return (await made.body.json()) as Endpoint;
  };
  const { id: agent_id } = await post('/v1/agents', { key: 'bench', model: 'gpt-4.1-mini' });
  const fields = { name: 'Bench', agent_id, mode: 'async' };
  const silent = await post('/v1/webhooks/endpoints', fields);
  const endpoints = await Promise.all(
    receivers.map((receiver) =>
      post('/v1/webhooks/endpoints', { ...fields, callback_url: receiver.url('/') }),
    ),
  );

  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})\n`,
  );
  console.log(`webhooks at ${perSecond}/s for ${seconds} s                       p50 ms   p99 ms`);
  await acknowledged(url, [silent], 3);
  report('  acknowledged, async', await acknowledged(url, [silent], seconds));
  await ended(url, adminKey, silent);
  const healthy = await lateness(url, endpoints);
  report('  result late, ten receivers', healthy.others);
  const hanging = receivers[0];
  if (hanging !== undefined) hanging.answer = () => 'nothing';
  const sick = await lateness(url, endpoints);
  report('  result late, nine receivers beside one that hangs', sick.others);
  console.log(`  requests that the hanging one holds: ${sick.hanging}`);
} finally {
  await agent.close();
  await local.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await remove();
}

function report(what: string, { p50, p99 }: Latencies): void {
  console.log(what.padEnd(56) + p50.toFixed(1).padStart(9) + p99.toFixed(1).padStart(9));
}

/** How long deliveries to these endpoints, in turn, take until they are acknowledged. */
async function acknowledged(url: string, to: readonly Endpoint[], forSeconds: number): Promise<Latencies> {
  const latencies: number[] = [];
  await arrivals({ perSecond, seconds: forSeconds }, async (index, dueAt) => {
    const endpoint = to[index % to.length] ?? { id: '', secret: '' };
    const [id, body] = [`msg_${dueAt}_${index}`, JSON.stringify({ input: `Disk ${index} of db-1 is full` })];
    const signature = signed({ scheme: 'standard', secret: endpoint.secret }, body, { id });
    const headers = { 'content-type': 'application/json', ...signature };
    const path = `/v1/webhooks/llm?endpoint=${endpoint.id}`;
    const answer = await request(url + path, { method: 'POST', headers, body, dispatcher: agent });
    await answer.body.dump();
    if (answer.statusCode !== 202) throw new Error(`a delivery was answered with ${answer.statusCode}`);
    latencies.push(performance.now() - dueAt);
  });
  return percentiles(latencies);
}

/** How long after the end of its run each result arrives, at the receivers that answer. */
async function lateness(
  url: string,
  endpoints: readonly Endpoint[],
): Promise<{ others: Latencies; hanging: number }> {
  for (const receiver of receivers) receiver.received.splice(0);
  await acknowledged(url, endpoints, seconds);
  const answering = receivers.filter((receiver) => answerOf(receiver) !== 'nothing').length;
  await arrived((perSecond * seconds * answering) / targets);
  const late = receivers
    .filter((receiver) => answerOf(receiver) !== 'nothing')
    .flatMap(({ received }) =>
      received.map(({ body, at }) => at - Date.parse((JSON.parse(body) as { timestamp: string }).timestamp)),
    );
  const hangs = receivers.filter((receiver) => answerOf(receiver) === 'nothing');
  return {
    others: percentiles(late),
    hanging: hangs.reduce((sum, { received }) => sum + received.length, 0),
  };
}

function answerOf(receiver: Receiver): ReturnType<Receiver['answer']> {
  return receiver.answer('/', 1, { path: '/', at: 0, headers: {}, body: '' });
}

/** Resolves when so many results have arrived at receivers that answer. */
async function arrived(count: number): Promise<void> {
  const answering = receivers.filter((receiver) => answerOf(receiver) !== 'nothing');
  await eventually(() => {
    const sum = answering.reduce((total, { received }) => total + received.length, 0);
    if (sum < count) throw new Error(`${sum} of ${count} results have arrived`);
  }, patienceMs);
}

/** Resolves when the newest call of an endpoint has ended: they run in order. */
async function ended(url: string, adminKey: string, { id }: Endpoint): Promise<void> {
  await eventually(async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await request(`${url}/v1/webhooks/endpoints/${id}/calls?limit=1`, { headers });
    const { data } = (await answer.body.json()) as { data: { status: string }[] };
    if (data[0]?.status !== 'succeeded') throw new Error('calls are still under way');
  }, patienceMs);
}
