import { sleep } from '@gatehouse/kit/clock';
import type { ClusterSystem } from '../cluster-system.ts';
import { describe, underLoad, type Drill } from '../drill.ts';
import { failuresOf, type Sent } from '../steady-load.ts';
import type { Workload } from '../workloads.ts';

/** From SIGTERM to SIGKILL: the shortest grace period with which Kubernetes still ends the process. */
const graceSeconds = 1;
/** Around that second, for the way of a command to the node and of the news to the callers. */
const marginMs = 1_500;

/** Workloads that hold a client's request for as long as the answer takes. */
const holders: readonly Workload[] = ['edge', 'chat', 'composed'];
/** Workloads in which the connections of clients end. */
const frontDoors: readonly Workload[] = ['edge', 'composed'];

/**
 * Pods are killed long before they could drain. Their requests may fail: with an error in the one shape, unless the
 * front door died, whose clients have lost their connection. Nothing else may.
 */
export const killedPod = (service: Workload): Drill => ({
  name: `kill-${service}`,
  title: `A pod of ${service} is killed`,
  async run(cluster) {
    let killedAt = Infinity;
    const holderOf = new Map<string, string>();
    const sent = await underLoad(cluster, async () => {
      if (service === 'chat') await noteHolders(cluster, holderOf);
      killedAt = await kill(cluster, service);
      while (service === 'chat' && Date.now() < killedAt) await noteHolders(cluster, holderOf);
      await sleep(15_000);
      await cluster.settle(service);
    });
    const failures = failuresOf(sent);
    const unclean = failures.filter((failure) => !mayFail(service, failure, killedAt));
    if (unclean.length > 0)
      throw new Error(
        `killed at ${new Date(killedAt).toISOString()}, and ${unclean.length} failed otherwise than they may:\n${describe(unclean)}`,
      );
    if (holders.includes(service) && failures.length === 0)
      throw new Error('no stream was cut, so nothing was killed');
    if (service === 'chat') expectOneHolder(failures, holderOf);
    return `${sent.length} requests; ${failures.length} in its hands ended with an error; the ledger is the provider's`;
  },
});

function mayFail(service: Workload, { at, ms, ending }: Sent, killedAt: number): boolean {
  const begunBefore = at < killedAt + marginMs;
  // The others answer in milliseconds: only a request that had just begun can have been waiting for them.
  const inItsHands = holders.includes(service)
    ? begunBefore && at + ms > killedAt - graceSeconds * 1_000 - marginMs
    : begunBefore && at > killedAt - graceSeconds * 1_000 - marginMs;
  return inItsHands && (ending === 'error' || frontDoors.includes(service));
}

/** Notes which replica of chat has which request in its hands. */
async function noteHolders(cluster: ClusterSystem, holderOf: Map<string, string>): Promise<void> {
  const rows = await cluster.rows<{ session_id: string; instance_id: string }>(
    `select run::json ->> 'session_id' as session_id, instance_id from chat.runs_under_way`,
  );
  for (const row of rows) holderOf.set(row.session_id, row.instance_id);
  await sleep(100);
}

/** All that failed was with one replica. */
function expectOneHolder(failures: readonly Sent[], holderOf: ReadonlyMap<string, string>): void {
  const holders = new Set(failures.flatMap(({ id }) => holderOf.get(id) ?? []));
  if (holders.size !== 1) throw new Error(`requests of ${holders.size} replicas failed`);
}

/** Returns when about the process is gone. */
async function kill(cluster: ClusterSystem, service: Workload): Promise<number> {
  const [pod] = await cluster.pods(service);
  const name = pod?.metadata.name ?? '';
  await cluster.kubectl(['delete', 'pod', name, `--grace-period=${graceSeconds}`, '--wait=false']);
  return Date.now() + graceSeconds * 1_000;
}
