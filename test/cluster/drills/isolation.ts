import { services, type ServiceName } from '@gatehouse/contract/services';
import type { ClusterSystem } from '../cluster-system.ts';
import { within, type Drill } from '../drill.ts';

const podName = 'stranger';

/** Asks every service as a pod without an identity can: over HTTP, and over gRPC where there is any. */
const script = `
  import { connect } from 'node:http2';
  const [, ...targets] = process.argv;
  const grpc = (host, path) => new Promise((resolve, reject) => {
    const session = connect('http://' + host + ':9000');
    session.on('error', reject).setTimeout(5_000, () => session.destroy(new Error('no answer')));
    const call = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    let status;
    const note = (headers) => { status = headers['grpc-status'] ?? status; };
    call.on('response', note).on('trailers', note).on('end', () => { session.close(); resolve(status); }).resume();
    call.end(Buffer.alloc(5));
  });
  const http = async (host, path) => {
    const options = { headers: { 'x-gatehouse-assertion': 'e30.e30.e30' }, signal: AbortSignal.timeout(5_000) };
    return (await fetch('http://' + host + ':8080' + path, options)).status;
  };
  const unreachable = () => 'unreachable';
  for (const target of targets) {
    const [service, host, path, rpc] = target.split(' ');
    const answers = [http(host, path), rpc === '' ? null : grpc(host, rpc)];
    const [status, code] = await Promise.all(answers.map((answer) => answer?.catch(unreachable) ?? null));
    console.log(JSON.stringify({ service, http: status, grpc: code }));
  }
`;

/** One HTTP route and one RPC of each. Does not compile without one of each service. */
const doors: Readonly<Record<ServiceName, { http: string; rpc: string }>> = {
  tenant: { http: '/v1/whoami', rpc: '/gatehouse.tenant.v1.TenantService/Lease' },
  agent: { http: '/v1/agents', rpc: '/gatehouse.agent.v1.AgentService/ResolveAgent' },
  analytics: { http: '/v1/usage/summary', rpc: '/gatehouse.events.v1.EventsService/Take' },
  memory: {
    http: '/v1/agents/helper/memory/documents',
    rpc: '/gatehouse.memory.v1.MemoryService/Recall',
  },
  chat: { http: '/v1/models', rpc: '/gatehouse.chat.v1.ChatService/CheckModels' },
  webhook: { http: '/v1/webhooks/endpoints', rpc: '/gatehouse.events.v1.EventsService/Take' },
  edge: { http: '/v1/models', rpc: '' },
};

const unauthenticated = '16';
/** The answer where the cluster enforces the network policies. */
const unreachable = 'unreachable';

interface Answers {
  service: ServiceName;
  http: number | string;
  grpc: string | null;
}

function isRefused({ service, http, grpc }: Answers): boolean {
  const overHttp = http === 401 || http === unreachable;
  return overHttp && (service === 'edge' || grpc === unauthenticated || grpc === unreachable);
}

/** Identity, not the network, keeps strangers out: this holds on clusters that do not enforce network policies. */
export const isolation: Drill = {
  name: 'isolation',
  title: 'All pods are restricted; a pod without an identity gets 401 and UNAUTHENTICATED from every service',
  separate: true,
  async run(cluster) {
    await expectRestricted(cluster);
    await cluster.kubectl(['delete', 'pod', podName, '--ignore-not-found']);
    const image = cluster.imageOf('setup');
    const targets = services.map(({ name: service }) => {
      const { http, rpc } = doors[service];
      return `${service} gw-${service}-headless ${http} ${rpc}`;
    });
    const command = ['node', '--input-type=module', '--eval', script, ...targets];
    const overrides = JSON.stringify({ spec: podSpec(image, command) });
    await cluster.kubectl([
      'run',
      podName,
      `--image=${image}`,
      '--restart=Never',
      `--overrides=${overrides}`,
    ]);
    try {
      await within(60_000, 'the stranger has asked everybody', async () => {
        const { status } = await cluster.json<{ status: { phase: string } }>(['get', 'pod', podName]);
        return ['Succeeded', 'Failed'].includes(status.phase);
      });
      const lines = (await cluster.kubectl(['logs', podName])).trim().split('\n');
      const answers = lines.map((line) => JSON.parse(line) as Answers);
      const refused = answers.filter(isRefused).length;
      if (refused !== services.length) throw new Error(`not all refused: ${lines.join(' ')}`);
      const byNetwork = answers.filter(({ http }) => http === unreachable).length;
      return `${refused - byNetwork} services refused it, ${byNetwork} could not be reached; the namespace enforces "restricted"`;
    } finally {
      await cluster.kubectl(['delete', 'pod', podName, '--ignore-not-found']);
    }
  },
};

async function expectRestricted(cluster: ClusterSystem): Promise<void> {
  const namespace = await cluster.json<{ metadata: { labels: Record<string, string> } }>([
    'get',
    'namespace',
    cluster.settings.namespace,
  ]);
  if (namespace.metadata.labels['pod-security.kubernetes.io/enforce'] !== 'restricted')
    throw new Error('the namespace does not enforce the restricted standard');
  for (const { name: service } of services)
    if ((await cluster.pods(service)).length === 0) throw new Error(`${service} has no pod`);
}

function podSpec(image: string, command: string[]): object {
  return {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
    restartPolicy: 'Never',
    containers: [
      {
        name: podName,
        image,
        imagePullPolicy: 'IfNotPresent',
        command,
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  };
}
