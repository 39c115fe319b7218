import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ServiceName } from '@gatehouse/contract/routes';
import { sleep } from '@gatehouse/kit/clock';
import type { ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { makeTenant, type TenantAccess } from '@gatehouse/test/tenants';
import { stringify } from 'yaml';
import type { Backends } from './backends.ts';
import { apply, helm, kubectl, kubectlJson } from './kubectl.ts';
import type { ClusterSettings } from './settings.ts';
import { workloadsOf, type Workload } from './workloads.ts';

/** Helm values, merged by Helm over the chart's own. */
export type Values = Readonly<Record<string, unknown>>;

export interface Pod {
  metadata: { name: string; creationTimestamp: string; deletionTimestamp?: string };
  spec: { containers: { image: string }[] };
}

const chart = path.join(import.meta.dirname, '../../charts/gatehouse');
/** Objects are called `<release>-<service>`. */
const release = 'gw';
const helmTimeout = '8m';
const helmTimeoutMs = 500_000;

/** One installation of the chart, in a namespace of its own that admits only restricted pods. */
export class ClusterSystem {
  readonly settings: ClusterSettings;
  readonly backends: Backends;
  ownerKey = '';
  #port = 0;

  constructor(settings: ClusterSettings, backends: Backends) {
    this.settings = settings;
    this.backends = backends;
  }

  /** The image of a service or of the setup step, as pods name it. */
  imageOf(name: string): string {
    const { registry, imageRepository, imageTag } = this.settings;
    return `${registry}/${imageRepository}/${name}:${imageTag}`;
  }

  /** All Deployments. */
  get workloads(): readonly Workload[] {
    return workloadsOf(this.settings);
  }

  /** The Deployment in which a service runs. */
  workloadOf(service: ServiceName): Workload {
    return this.settings.composed ? 'composed' : service;
  }

  get url(): string {
    return `http://${this.settings.node}:${this.#port}`;
  }

  /** Makes what the operator has before Helm comes: the namespace and the Secrets that values name. */
  async prepare(): Promise<void> {
    const { namespace } = this.settings;
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const secret = (name: string, stringData: Record<string, string>): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData,
    });
    await apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
      secret('database', { url: this.backends.databaseUrl }),
      secret('providers', { SIMULATOR_KEY: 'provider-key' }),
    ]);
  }

  /** Installs or upgrades, and returns when all pods are those of the new state and the others have gone. */
  async deploy(values: Values = {}): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-values-'));
    try {
      const files = [this.#values(), values].map(async (content, index) => {
        const file = path.join(folder, `${index}.yaml`);
        await writeFile(file, stringify(content));
        return ['--values', file];
      });
      const options = ['--wait', '--timeout', helmTimeout, ...(await Promise.all(files)).flat()];
      await this.#helm(['upgrade', '--install', release, chart, ...options]);
    } finally {
      await rm(folder, { recursive: true });
    }
    // Helm waits for the new pods only.
    for (const workload of this.workloads) await this.settle(workload);
    const front = ['get', 'service', `${release}-edge`];
    const service = await this.json<{ spec: { ports: { nodePort: number }[] } }>(front);
    this.#port = service.spec.ports[0]?.nodePort ?? 0;
  }

  /** The command that NOTES.txt prints. */
  async bootstrap(): Promise<void> {
    const workload = this.workloadOf('tenant');
    const command = this.settings.composed
      ? ['sh', '-c', 'DATABASE_URL=$DATABASE_URL_TENANT node -C dist ../../services/tenant/src/bootstrap.js']
      : ['node', '-C', 'dist', 'src/bootstrap.js'];
    this.ownerKey = (await this.kubectl(['exec', `deploy/${release}-${workload}`, '--', ...command])).trim();
  }

  async uninstall(): Promise<void> {
    await this.#helm(['uninstall', release, '--wait', '--timeout', helmTimeout]);
  }

  /** Everything that the run made in the cluster. */
  async remove(): Promise<void> {
    await kubectl(['delete', 'namespace', this.settings.namespace, '--ignore-not-found'], {
      timeoutMs: 180_000,
    });
  }

  kubectl(args: readonly string[], timeoutMs?: number): Promise<string> {
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    return kubectl(['--namespace', this.settings.namespace, ...args], options);
  }

  json<Shape>(args: readonly string[]): Promise<Shape> {
    return kubectlJson<Shape>(['--namespace', this.settings.namespace, ...args]);
  }

  /** Pods of a Deployment that are not being deleted, oldest first. */
  async pods(workload: Workload): Promise<Pod[]> {
    const pods = await this.#allPods(workload);
    return pods
      .filter((pod) => pod.metadata.deletionTimestamp === undefined)
      .sort((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp));
  }

  /** Sets the number of pods of a Deployment; returns when they are ready, or gone. */
  async scale(workload: Workload, replicas: number): Promise<void> {
    await this.kubectl(['scale', `deploy/${release}-${workload}`, `--replicas=${replicas}`]);
    await this.settle(workload);
  }

  /** Waits until a Deployment has exactly the pods that are wanted, ready for long enough, and no other that still drains. */
  async settle(workload: Workload): Promise<void> {
    await this.kubectl(['rollout', 'status', `deploy/${release}-${workload}`, '--timeout=240s'], 250_000);
    const leaving = async (): Promise<boolean> => {
      const pods = await this.#allPods(workload);
      return pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
    };
    while (await leaving()) await sleep(500);
  }

  /** State, events and logs from Kubernetes and the pods, for the report of a failure. */
  async diagnosis(): Promise<string> {
    const ask = (args: string[]): Promise<string> =>
      this.kubectl(args).catch((error: unknown) => (error as Error).message);
    const { items } = await this.json<{ items: Pod[] }>(['get', 'pods']);
    const logs = items.map(async ({ metadata: { name } }) => {
      const text = await ask(['logs', name, '--all-containers', '--prefix', '--tail=12', '--ignore-errors']);
      return `logs of ${name}:\n${text}`;
    });
    const events = ask(['get', 'events', '--field-selector=type!=Normal', '--sort-by=.lastTimestamp']);
    return [await ask(['get', 'pods', '--output=wide']), await events, ...(await Promise.all(logs))].join(
      '\n',
    );
  }

  get simulator(): ProviderSimulator {
    return this.backends.simulator;
  }

  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.backends.rows<Row>(sql, values);
  }

  /** A new tenant with an admin key and a user key. */
  makeTenant(settings: Record<string, unknown> = {}): Promise<TenantAccess> {
    return makeTenant(this, settings);
  }

  async #allPods(workload: Workload): Promise<Pod[]> {
    const selector = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${workload}`;
    const { items } = await this.json<{ items: Pod[] }>(['get', 'pods', '--selector', selector]);
    return items;
  }

  #helm(args: readonly string[]): Promise<string> {
    return helm(['--namespace', this.settings.namespace, ...args], { timeoutMs: helmTimeoutMs });
  }

  #values(): Values {
    const { registry, imageRepository, imageTag } = this.settings;
    const price = { input_per_mtok: '0.40', cached_input_per_mtok: '0.10', output_per_mtok: '1.60' };
    return {
      fullnameOverride: release,
      composed: this.settings.composed,
      image: { registry, repository: imageRepository, tag: imageTag },
      logLevel: 'warn',
      database: { existingSecret: 'database' },
      providers: { existingSecret: 'providers' },
      // Not the usual port.
      networkPolicy: { egress: { database: { ports: [Number(new URL(this.backends.databaseUrl).port)] } } },
      kafka: { brokers: [this.backends.brokers] },
      service: { type: 'NodePort' },
      models: {
        catalogue: {
          providers: [
            {
              name: 'simulator',
              kind: 'openai',
              base_url: this.simulator.baseUrl,
              api_key_env: 'SIMULATOR_KEY',
            },
          ],
          models: [{ id: 'gpt-4.1-mini', provider: 'simulator', price }],
        },
      },
      // A test machine has no room for what a production pod reserves.
      defaults: { resources: { requests: { cpu: '20m', memory: '64Mi' } } },
      services: {
        composed: { resources: { requests: { memory: '64Mi' } } },
        analytics: { resources: { requests: { memory: '64Mi' } } },
        chat: { resources: { requests: { memory: '64Mi' } } },
      },
    };
  }
}
