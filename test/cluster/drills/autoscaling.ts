import { sleep } from '@gatehouse/kit/clock';
import { GatewayClient } from '../../chaos/gateway-client.ts';
import { within, type Drill } from '../drill.ts';

const clients = 64;
const behavior = {
  scaleUp: { stabilizationWindowSeconds: 0 },
  scaleDown: {
    stabilizationWindowSeconds: 15,
    policies: [{ type: 'Pods', value: 2, periodSeconds: 15 }],
  },
};

/** The autoscaler follows the load, up and down, and no client is cut off when pods are removed. */
export const autoscaling: Drill = {
  name: 'autoscaling',
  title: 'The autoscaler takes the Deployment with chat up under load and down again',
  async run(cluster) {
    const autoscaling = {
      enabled: true,
      minReplicas: 1,
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 80,
      behavior,
    };
    const workload = cluster.workloadOf('chat');
    // A process with all services does more while it idles.
    const cpu = cluster.settings.composed ? '250m' : '100m';
    await cluster.deploy({
      services: { [workload]: { autoscaling, resources: { requests: { cpu } } } },
    });
    try {
      await within(240_000, 'chat idles at one pod', async () => (await cluster.pods(workload)).length === 1);
      const { userKey } = await cluster.makeTenant();
      const client = new GatewayClient(cluster.url, userKey);
      const state = { loading: true, sent: 0, failed: [] as string[] };
      const loops = Array.from({ length: clients }, async () => {
        while (state.loading) {
          const { ending, errorCode, detail } = await client.complete();
          state.sent += 1;
          if (ending !== 'answer') state.failed.push(`${ending} ${errorCode ?? detail}`);
        }
      });
      const up = await within(180_000, 'chat has three pods', async () => {
        return (await cluster.pods(workload)).length === 3;
      });
      await cluster.settle(workload);
      await sleep(5_000);
      state.loading = false;
      await Promise.all(loops);
      const down = await within(300_000, 'chat is back at one pod', async () => {
        return (await cluster.pods(workload)).length === 1;
      });
      client.close();
      if (state.failed.length > 0)
        throw new Error(
          `${state.failed.length} of ${state.sent} failed: ${state.failed.slice(0, 3).join('; ')}`,
        );
      return `1 → 3 in ${up} s, back to 1 in ${down} s; ${state.sent} requests, 0 failed`;
    } finally {
      await cluster.deploy();
      // Kubernetes leaves the last number that the autoscaler wanted.
      await cluster.scale(workload, 2);
    }
  },
};
