import type { Values } from './helm.ts';

const monitoringNamespace = {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
};

/** Values that operators switch on and off, alone and together. Tests of every installation run with each. */
export const combinations: Readonly<Record<string, Values>> = {
  'as it is': {},
  'secrets of its own': { secrets: { existing: 'our-secrets' } },
  'secrets that go with it': { secrets: { keep: false } },
  'migrations run elsewhere': { migrations: { enabled: false } },
  Kafka: { kafka: { brokers: ['kafka-0.kafka:9092', 'kafka-1.kafka:9093'], prefix: 'gw.' } },
  Ingress: {
    ingress: {
      enabled: true,
      className: 'nginx',
      hosts: ['ai.example.com', 'ai.example.org'],
      tls: [{ hosts: ['ai.example.com'], secretName: 'ai-tls' }],
    },
    trustedProxies: ['10.0.0.0/8'],
  },
  HTTPRoute: {
    httpRoute: {
      enabled: true,
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['ai.example.com'],
    },
  },
  NodePort: { service: { type: 'NodePort', nodePort: 30080, annotations: { note: 'front door' } } },
  LoadBalancer: {
    service: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['192.0.2.0/24', '2001:db8::/32'],
      loadBalancerClass: 'example.com/internal',
    },
  },
  'all services in one process': {
    composed: true,
    kafka: { brokers: ['kafka:9092'] },
    ingress: { enabled: true, hosts: ['ai.example.com'] },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
    publicUrl: 'https://gateway.example.com',
    webhooks: { allowToken: true },
    providers: { existingSecret: 'provider-keys' },
    services: { composed: { autoscaling: { enabled: true }, image: { tag: '1.2.3' } } },
  },
  'https at the edge': { tls: { secretName: 'public-tls' }, service: { type: 'LoadBalancer', port: 443 } },
  'https of one process': {
    composed: true,
    tls: { secretName: 'public-tls' },
    internalTls: { enabled: true },
  },
  'TLS between services, with a CA of its own': { internalTls: { enabled: true } },
  'TLS between services, by an issuer': {
    internalTls: { enabled: true, certManager: { issuerRef: { name: 'gatehouse-ca', kind: 'Issuer' } } },
    models: { catalogue: { models: [] } },
    login: { issuers: [{ name: 'main', issuer: 'https://login.example.com', client_id: 'gatehouse' }] },
    publicUrl: 'https://gateway.example.com',
  },
  'autoscaling everywhere': { defaults: { autoscaling: { enabled: true } } },
  'one replica': { defaults: { replicas: 1 } },
  'no budgets, policies or spread': {
    defaults: { podDisruptionBudget: { enabled: false }, topologySpreadConstraints: [] },
    networkPolicy: { enabled: false },
  },
  'strict policies': {
    kafka: { brokers: ['kafka:9092'] },
    networkPolicy: {
      edgeFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      metricsFrom: [monitoringNamespace],
      egress: {
        dns: { ports: [53, 5353] },
        database: { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [6432] },
        kafka: { ports: [9094] },
        providers: { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [443] },
        targets: { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [443] },
        extra: [{ to: [monitoringNamespace], ports: [{ port: 4318, protocol: 'TCP' }] }],
      },
    },
    otel: { endpoint: 'http://collector.monitoring:4318' },
  },
  'open ways out': { networkPolicy: { egress: { enabled: false } } },
  monitoring: {
    monitoring: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: {
        enabled: true,
        labels: { release: 'prometheus' },
        runbookUrl: 'https://git.example.com/gatehouse/blob/main/',
      },
      dashboards: { enabled: true, annotations: { folder: 'Gatehouse' } },
    },
  },
  'everything an operator can say of a service': {
    image: {
      registry: 'registry.example.com',
      repository: 'ai/gatehouse',
      tag: '1.2.3',
      pullSecrets: [{ name: 'registry' }],
    },
    providers: { existingSecret: 'provider-keys' },
    egress: { allow: ['hooks.internal.example.com', '10.20.0.0/16'] },
    webhooks: { allowToken: true },
    publicUrl: 'https://gateway.example.com',
    models: { existingConfigMap: 'our-models' },
    jobs: { podLabels: { team: 'ai' }, podAnnotations: { 'sidecar.istio.io/inject': 'false' } },
    defaults: {
      image: { digest: `sha256:${'0'.repeat(64)}` },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['ai'] }] }],
          },
        },
      },
      nodeSelector: { pool: 'ai' },
      tolerations: [{ key: 'ai', operator: 'Exists', effect: 'NoSchedule' }],
      priorityClassName: 'important',
      extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/ca/ca.crt' }],
      extraEnvFrom: [{ configMapRef: { name: 'more' } }],
      extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
      labels: { team: 'ai' },
      annotations: { owner: 'ai' },
      podAnnotations: { 'sidecar.istio.io/inject': 'true' },
      serviceAccount: { annotations: { role: 'ai' } },
      podDisruptionBudget: { maxUnavailable: '25%' },
    },
  },
};
