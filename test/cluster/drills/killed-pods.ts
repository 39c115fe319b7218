import { sleep } from '@gatehouse/kit/clock';
import { services, type ClusterSystem, type ServiceName } from '../cluster-system.ts';
import { describe, underLoad, type Drill } from '../drill.ts';
import { failuresOf, type Sent } from '../steady-load.ts';

/** A request that was sent this much after the kill was not in the pod's hands. */
const marginMs = 1_000;

/**
 * Pods die without a word. What was in their hands may fail: with an error in the one shape, unless it was the edge that
 * died, whose clients have lost their connection. Nothing else may.
 */
export const killedPods: readonly Drill[] = services.map((service) => ({
  name: `kill-${service}`,
  title: `A pod of ${service} is killed`,
  async run(cluster) {
    let killedAt = Infinity;
    const sent = await underLoad(cluster, async () => {
      killedAt = await kill(cluster, service);
      await sleep(15_000);
      await cluster.settle(service);
    });
    const failures = failuresOf(sent);
    const unclean = failures.filter((failure) => !mayFail(service, failure, killedAt));
    if (unclean.length > 0)
      throw new Error(
        `killed at ${new Date(killedAt).toISOString()}, and ${unclean.length} failed otherwise than they may:\n${describe(unclean)}`,
      );
    return `${sent.length} requests; ${failures.length} in its hands ended with an error; the ledger is the provider's`;
  },
}));

function mayFail(service: ServiceName, { at, ms, ending }: Sent, killedAt: number): boolean {
  const inItsHands = at < killedAt + marginMs && at + ms > killedAt - marginMs;
  return inItsHands && (ending === 'error' || service === 'edge');
}

/** The kernel's SIGKILL, by way of a grace period of nothing. */
async function kill(cluster: ClusterSystem, service: ServiceName): Promise<number> {
  const [pod] = await cluster.pods(service);
  const at = Date.now();
  await cluster.kubectl(['delete', 'pod', pod?.metadata.name ?? '', '--grace-period=0', '--force']);
  return at;
}
