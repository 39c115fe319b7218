import { sleep } from '@gatehouse/kit/clock';
import { unnoticed, type Drill } from '../drill.ts';

const analyticsOutageMs = 60_000;

/** Changes that operators make on purpose, under load: no client may notice any of them. */
export const plannedChanges: readonly Drill[] = [
  {
    name: 'upgrade',
    title: 'helm upgrade with new images',
    run: (cluster) =>
      unnoticed(cluster, () => cluster.deploy({ image: { tag: `${cluster.settings.imageTag}-next` } })),
  },
  {
    name: 'delete-pods',
    title: 'One pod of each Deployment is deleted',
    run: (cluster) =>
      unnoticed(cluster, async () => {
        for (const workload of cluster.workloads) {
          const [pod] = await cluster.pods(workload);
          await cluster.kubectl(['delete', 'pod', pod?.metadata.name ?? ''], 400_000);
          await cluster.settle(workload);
        }
      }),
  },
  {
    name: 'scale-chat',
    title: 'The Deployment with chat is scaled 1 → 3 → 1',
    async run(cluster) {
      const workload = cluster.workloadOf('chat');
      await cluster.scale(workload, 1);
      const result = await unnoticed(cluster, async () => {
        await cluster.scale(workload, 3);
        await sleep(20_000);
        await cluster.scale(workload, 1);
        await sleep(20_000);
      });
      await cluster.scale(workload, 2);
      return result;
    },
  },
  {
    name: 'analytics-outage',
    title: 'analytics is away for 60 s',
    separate: true,
    run: (cluster) =>
      unnoticed(cluster, async () => {
        await cluster.scale('analytics', 0);
        await sleep(analyticsOutageMs);
        await cluster.scale('analytics', 2);
      }),
  },
  {
    name: 'kafka-restart',
    title: 'Kafka is restarted',
    run: (cluster) => unnoticed(cluster, () => cluster.backends.restartKafka()),
  },
];
