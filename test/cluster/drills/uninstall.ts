import type { ClusterSystem } from '../cluster-system.ts';
import { within, type Drill } from '../drill.ts';

/** Kinds that the chart makes; a namespace of ours has nothing else of them but what Kubernetes itself adds. */
const kinds =
  'deployments,replicasets,pods,jobs,services,configmaps,secrets,serviceaccounts,roles,rolebindings,' +
  'poddisruptionbudgets,horizontalpodautoscalers,networkpolicies,ingresses';
const notOurs = new Set([
  'ConfigMap/kube-root-ca.crt',
  'ServiceAccount/default',
  // Made by the operator.
  'Secret/database',
  'Secret/providers',
]);

interface Item {
  kind: string;
  metadata: { name: string };
}

async function leftovers(cluster: ClusterSystem): Promise<string[]> {
  const { items } = await cluster.json<{ items: Item[] }>(['get', kinds]);
  return items.map(({ kind, metadata }) => `${kind}/${metadata.name}`).filter((name) => !notOurs.has(name));
}

async function expectLeftovers(cluster: ClusterSystem, wanted: readonly string[]): Promise<void> {
  let left: string[] = [];
  const settled = async (): Promise<boolean> => {
    left = await leftovers(cluster);
    return left.join() === wanted.join();
  };
  await within(60_000, 'the uninstall is over', settled).catch(() => {
    throw new Error(`left: ${left.join(', ') || 'nothing'}; wanted: ${wanted.join(', ') || 'nothing'}`);
  });
}

/** Only objects that the operator asked to keep stay, and a new installation goes on with them. */
export const uninstall: Drill = {
  name: 'uninstall',
  title: 'helm uninstall leaves what was asked to be kept; installed again, keys and data are there',
  async run(cluster) {
    const tenant = await cluster.makeTenant();
    await cluster.uninstall();
    await expectLeftovers(cluster, ['Secret/gw-secrets']);
    await cluster.deploy({ secrets: { keep: false } });
    const answer = await fetch(`${cluster.url}/v1/whoami`, {
      headers: { authorization: `Bearer ${tenant.adminKey}` },
    });
    if (answer.status !== 200)
      throw new Error(`the tenant's key is answered ${answer.status} after a reinstall`);
    await cluster.uninstall();
    await expectLeftovers(cluster, []);
    // With nothing kept, new logins are made for the data that is there.
    await cluster.deploy({ secrets: { keep: false } });
    await cluster.uninstall();
    return 'kept: the Secret with the key ring; with secrets.keep=false: nothing';
  },
};
