import { sleep } from '@gatehouse/kit/clock';
import { earlyInMinute } from '@gatehouse/test/minute';
import { GatewayClient } from '../../chaos/gateway-client.ts';
import type { ClusterSystem } from '../cluster-system.ts';
import { within, type Drill } from '../drill.ts';

const limit = 60;
const replicas = 3;
const clients = 300;

/** A limit is the tenant's, not a replica's. */
export const limits: Drill = {
  name: 'limits',
  title: 'A limit of 60 requests a minute, with chat at three replicas',
  async run(cluster) {
    const workload = cluster.workloadOf('chat');
    await cluster.scale(workload, replicas);
    try {
      await allServe(cluster);
      const { id, userKey } = await cluster.makeTenant({ limits: { requests_per_minute: limit } });
      const client = new GatewayClient(cluster.url, userKey);
      cluster.simulator.reset();
      await earlyInMinute(30);
      const answers = Promise.all(
        Array.from({ length: clients }, () => client.complete({ provider: { delay_ms: 2_000 } })),
      );
      await sleep(1_000);
      const serving = await replicasServing(cluster, id);
      const outcomes = await answers;
      client.close();
      const passed = outcomes.filter(({ status }) => status === 200).length;
      const refused = outcomes.filter(({ errorCode }) => errorCode === 'rate_limit_exceeded').length;
      const called = cluster.simulator.requests.length;
      if (passed !== limit || called !== limit || refused !== clients - limit)
        throw new Error(`${passed} passed, ${called} reached the provider, ${refused} were refused`);
      return `of ${clients} requests ${passed} passed, ${serving} of ${replicas} replicas at work; ${refused} got 429`;
    } finally {
      await cluster.scale(workload, 2);
    }
  },
};

/** Waits until every replica answers requests. */
async function allServe(cluster: ClusterSystem): Promise<void> {
  const { id, userKey } = await cluster.makeTenant();
  const client = new GatewayClient(cluster.url, userKey);
  await within(60_000, 'all replicas answer', async () => {
    const slow = Promise.all(
      Array.from({ length: 10 }, () => client.complete({ provider: { delay_ms: 2_000 } })),
    );
    await sleep(1_000);
    const serving = await replicasServing(cluster, id);
    await slow;
    return serving === replicas;
  });
  client.close();
}

/** How many replicas have a request of the tenant in their hands. */
async function replicasServing(cluster: ClusterSystem, tenantId: string): Promise<number> {
  const rows = await cluster.rows(
    'select distinct instance_id from chat.runs_under_way where tenant_id = $1',
    [tenantId],
  );
  return rows.length;
}
