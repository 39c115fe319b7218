import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '@gatehouse/kit/config';
import type { INetworkPolicyPeer } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicyPeer';
import type { INetworkPolicyPort } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicyPort';
import { render, serviceNames, type Values } from './helm.ts';
import { ofKind, podsOf, selects, type Manifest } from './manifests.ts';
import { settingsOf } from './service-settings.ts';

const ports = { http: 8080, grpc: 9000, admin: 9090 };
/** `caller>callee:port` for each peer that a service's own settings ask for. */
async function neededCalls(): Promise<string[]> {
  const calls = Object.entries(settingsOf).map(async ([caller, load]) => {
    const error: unknown = await Promise.resolve()
      .then(() => load({}))
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof ConfigError)) throw new Error(`${caller} starts without settings`);
    return [...error.message.matchAll(/^ {2}([A-Z]+)_(HTTP|GRPC): /gm)].map(
      ([, callee = '', port = '']) => `${caller}>${callee.toLowerCase()}:${port.toLowerCase()}`,
    );
  });
  return (await Promise.all(calls)).flat().sort();
}

/** Somebody who calls or is called: a pod of ours, a pod of another namespace, or an address outside. */
interface Party {
  namespace: string | null;
  labels: Readonly<Record<string, string>>;
}

const outside: Party = { namespace: null, labels: {} };
const prometheus: Party = { namespace: 'monitoring', labels: { app: 'prometheus' } };
const stranger: Party = { namespace: 'gateway', labels: { app: 'stranger' } };

function isPeer(peers: readonly INetworkPolicyPeer[] | undefined, party: Party): boolean {
  if (peers === undefined) return true;
  return peers.some(({ ipBlock, namespaceSelector, podSelector }) => {
    if (ipBlock !== undefined) return party.namespace === null;
    if (party.namespace === null) return false;
    const namespaceLabels = { 'kubernetes.io/metadata.name': party.namespace };
    const there =
      namespaceSelector === undefined
        ? party.namespace === 'gateway'
        : selects(namespaceSelector.matchLabels, namespaceLabels);
    return there && selects(podSelector?.matchLabels, party.labels);
  });
}

function isPort(allowed: readonly INetworkPolicyPort[] | undefined, port: number): boolean {
  return allowed === undefined || allowed.some((entry) => entry.port === port && entry.protocol === 'TCP');
}

/** Decides as a cluster that enforces policies does: what no policy selects is open, otherwise one rule must match. */
class Network {
  readonly #manifests: readonly Manifest[];
  constructor(values: Values) {
    this.#manifests = render(values);
  }

  pod(component: string): Party {
    const found = podsOf(this.#manifests).find((pod) => pod.component === component);
    if (found === undefined) throw new Error(`there is no pod ${component}`);
    return { namespace: 'gateway', labels: found.labels };
  }

  #rules(direction: 'Ingress' | 'Egress', party: Party) {
    const policies = ofKind(this.#manifests, 'NetworkPolicy').filter(
      ({ spec }) =>
        party.namespace === 'gateway' &&
        spec?.policyTypes?.includes(direction) === true &&
        selects(spec.podSelector?.matchLabels, party.labels),
    );
    if (policies.length === 0) return null;
    return policies.flatMap(({ spec }) =>
      direction === 'Ingress'
        ? (spec?.ingress ?? []).map((rule) => ({ peers: rule.from, ports: rule.ports }))
        : (spec?.egress ?? []).map((rule) => ({ peers: rule.to, ports: rule.ports })),
    );
  }

  #passes(direction: 'Ingress' | 'Egress', whose: Party, other: Party, port: number): boolean {
    const rules = this.#rules(direction, whose);
    return rules === null || rules.some((rule) => isPeer(rule.peers, other) && isPort(rule.ports, port));
  }

  admits(callee: Party, caller: Party, port: number): boolean {
    return this.#passes('Ingress', callee, caller, port);
  }

  leaves(caller: Party, callee: Party, port: number): boolean {
    return this.#passes('Egress', caller, callee, port);
  }

  /** `caller>callee:port` of every call between services that gets through. */
  calls(direction: 'in' | 'out'): string[] {
    const open: string[] = [];
    for (const caller of serviceNames) {
      for (const callee of serviceNames.filter((name) => name !== caller)) {
        for (const [name, port] of Object.entries(ports)) {
          const [from, to] = [this.pod(caller), this.pod(callee)];
          const passes = direction === 'in' ? this.admits(to, from, port) : this.leaves(from, to, port);
          if (passes) open.push(`${caller}>${callee}:${name}`);
        }
      }
    }
    return open.sort();
  }
}

/** Providers are anywhere, so chat's way out is narrowed for what is said about it. */
const narrow = {
  networkPolicy: { egress: { providers: { ports: [443] }, targets: { ports: [443] } } },
};

describe('network policies', () => {
  it('let in exactly the callers whose settings name the service; all may call the edge', async () => {
    const needed = await neededCalls();
    expect(needed).toContain('edge>tenant:grpc');
    const network = new Network({});
    const anyone = serviceNames.filter((name) => name !== 'edge').map((name) => `${name}>edge:http`);
    expect(network.calls('in')).toEqual([...needed, ...anyone].sort());
  });

  it('let out exactly the calls that the settings name', async () => {
    expect(new Network(narrow).calls('out')).toEqual(await neededCalls());
  });

  it('keep strangers out of everything but the edge, and everybody off the admin port', () => {
    const network = new Network({});
    for (const caller of [outside, stranger, prometheus]) {
      for (const service of serviceNames) {
        const open = Object.values(ports).filter((port) =>
          network.admits(network.pod(service), caller, port),
        );
        expect({ service, open }).toEqual({ service, open: service === 'edge' ? [ports.http] : [] });
      }
    }
  });

  it('let Prometheus read metrics where its namespace is named, and nothing else', () => {
    const network = new Network({
      networkPolicy: {
        metricsFrom: [
          { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
        ],
      },
    });
    for (const service of serviceNames.filter((name) => name !== 'edge')) {
      const open = Object.values(ports).filter((port) =>
        network.admits(network.pod(service), prometheus, port),
      );
      expect(open).toEqual([ports.admin]);
      expect(network.admits(network.pod(service), stranger, ports.admin)).toBe(false);
    }
  });

  it('limit who reaches the edge to whom the operator names, and `helm test`', () => {
    const network = new Network({
      networkPolicy: {
        edgeFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      },
    });
    const edge = network.pod('edge');
    expect(network.admits(edge, { namespace: 'ingress', labels: {} }, ports.http)).toBe(true);
    expect(network.admits(edge, network.pod('test'), ports.http)).toBe(true);
    for (const caller of [outside, stranger, prometheus, network.pod('chat')]) {
      expect(network.admits(edge, caller, ports.http)).toBe(false);
    }
  });

  it('let out to PostgreSQL and Kafka who uses them, to providers chat alone, and to addresses of tenants agent, chat and webhook', () => {
    const withoutKafka = new Network({});
    const network = new Network({ kafka: { brokers: ['kafka-0:9092', 'kafka-1:9192'] } });
    for (const service of serviceNames) {
      const reaches = (port: number, of = network) => of.leaves(of.pod(service), outside, port);
      const stores = service !== 'edge';
      const anywhere = ['agent', 'chat', 'webhook'].includes(service);
      expect(reaches(53)).toBe(true);
      expect(reaches(5432)).toBe(stores);
      expect([reaches(9092), reaches(9192)]).toEqual([stores, stores]);
      expect(reaches(9092, withoutKafka)).toBe(anywhere);
      expect(reaches(443)).toBe(anywhere);
    }
  });

  it('let out to issuers from tenant, where there are some', () => {
    const login = {
      issuers: [{ name: 'main', issuer: 'https://login.example.com', client_id: 'gatehouse' }],
    };
    const network = new Network({ ...narrow, login });
    expect([443, 80].map((port) => network.leaves(network.pod('tenant'), outside, port))).toEqual([
      true,
      false,
    ]);
    expect(network.leaves(network.pod('memory'), outside, 443)).toBe(false);
  });

  it.each([
    { said: {}, open: [53] },
    { said: { dns: { ports: [5353] } }, open: [5353] },
    { said: { dns: { ports: [53, 5353] } }, open: [53, 5353] },
    { said: { dns: { ports: [] } }, open: [] },
  ])('allows DNS over UDP and TCP on $open only, with the values $said', ({ said, open }) => {
    const values = { networkPolicy: { egress: { ...narrow.networkPolicy.egress, ...said } } };
    const network = new Network(values);
    for (const service of serviceNames) {
      const tcp = [53, 5353].filter((port) => network.leaves(network.pod(service), prometheus, port));
      expect(tcp).toEqual(open);
    }
    for (const { spec } of ofKind(render(values), 'NetworkPolicy')) {
      const udp = spec?.egress
        ?.flatMap((rule) => rule.ports ?? [])
        .filter(({ protocol }) => protocol === 'UDP');
      expect(udp?.map(({ port }) => port)).toEqual(open);
    }
  });

  it.each([
    ['http://collector.monitoring:4318', 4318],
    ['http://collector.monitoring/otlp', 80],
    ['https://[2001:db8::1]', 443],
  ])('let out to the receiver of traces at %s', (endpoint, port) => {
    const [network, without] = [new Network({ otel: { endpoint } }), new Network({})];
    for (const service of ['edge', 'tenant']) {
      expect(network.leaves(network.pod(service), prometheus, port)).toBe(true);
      expect(without.leaves(without.pod(service), prometheus, port)).toBe(false);
    }
  });

  it('take the places that the operator gives instead', () => {
    const network = new Network({
      kafka: { brokers: ['kafka:9092'] },
      networkPolicy: {
        egress: {
          database: { to: [{ ipBlock: { cidr: '10.0.0.1/32' } }], ports: [6432] },
          kafka: {
            to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kafka' } } }],
            ports: [9094],
          },
          providers: { ports: [443] },
          targets: { ports: [8443] },
          extra: [
            { to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
          ],
        },
      },
    });
    const tenant = network.pod('tenant');
    const kafka: Party = { namespace: 'kafka', labels: {} };
    expect([6432, 5432].map((port) => network.leaves(tenant, outside, port))).toEqual([true, false]);
    expect(network.leaves(tenant, stranger, 6432)).toBe(false);
    expect([9094, 9092].map((port) => network.leaves(tenant, kafka, port))).toEqual([true, false]);
    const leaves = (service: string) =>
      [443, 8443, 80].map((port) => network.leaves(network.pod(service), outside, port));
    expect(leaves('chat')).toEqual([true, true, false]);
    expect(leaves('webhook')).toEqual([false, true, false]);
    expect(network.leaves(network.pod('edge'), prometheus, 4318)).toBe(true);
  });

  it('can leave the ways out open, or be left out', () => {
    const open = new Network({ networkPolicy: { egress: { enabled: false } } });
    expect(open.leaves(open.pod('edge'), outside, 443)).toBe(true);
    expect(open.admits(open.pod('chat'), outside, ports.http)).toBe(false);
    expect(ofKind(render({ networkPolicy: { enabled: false } }), 'NetworkPolicy')).toEqual([]);
  });
});
