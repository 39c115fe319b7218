import { kubectlJson } from './kubectl.ts';

export interface ClusterSettings {
  /** Made for the run and deleted after it. */
  namespace: string;
  /** This machine as pods reach it: where PostgreSQL, Kafka and the simulated provider listen. */
  host: string;
  /** The address at which NodePorts answer. */
  node: string;
  /** Registry that the nodes pull from; empty where images are loaded into them. */
  registry: string;
  /** The part before `/<service>` in the names of images. */
  imageRepository: string;
  imageTag: string;
  /** Whether one Deployment runs all services. */
  composed: boolean;
  /** Steady load during the drills: unary requests a second, and streams at a time. */
  unaryPerSecond: number;
  streams: number;
  /** Names of drills to run; empty for all. */
  only: readonly string[];
}

interface NodeList {
  items: { status: { addresses: { type: string; address: string }[] } }[];
}

/** Reads the settings of `make test-cluster`; missing ones come from the cluster that KUBECONFIG names. */
export async function loadSettings(
  environment: Record<string, string | undefined>,
): Promise<ClusterSettings> {
  const { items } = await kubectlJson<NodeList>(['get', 'nodes']);
  const addresses = items[0]?.status.addresses ?? [];
  const node = addresses.find(({ type }) => type === 'InternalIP')?.address;
  if (node === undefined) throw new Error('the cluster has no node with an address');
  return {
    namespace: `gatehouse-test-${process.pid}`,
    // If the cluster is on this very machine, the node's address is the machine's.
    host: environment['CLUSTER_HOST'] ?? node,
    node: environment['CLUSTER_NODE'] ?? node,
    // The node has loaded images under this one, whatever their names leave out.
    registry: environment['REGISTRY'] ?? 'docker.io',
    imageRepository: (environment['IMAGE_PREFIX'] ?? 'gatehouse/').replace(/\/$/, ''),
    imageTag: environment['IMAGE_TAG'] ?? defaultTag(environment),
    composed: environment['CLUSTER_COMPOSED'] === '1',
    unaryPerSecond: Number(environment['UNARY_PER_SECOND'] ?? 20),
    streams: Number(environment['STREAMS'] ?? 20),
    only: (environment['DRILLS'] ?? '').split(',').filter((name) => name !== ''),
  };
}

/** A loaded image takes the place of an older one of its name; a node pulls a name only once. */
function defaultTag(environment: Record<string, string | undefined>): string {
  return environment['REGISTRY'] === undefined ? 'cluster-test' : `cluster-test-${Date.now()}`;
}
