import { describe, expect, it } from '@jest/globals';
import { render, serviceNames, type Values } from './helm.ts';
import { named, ofKind, podsOf, servicePods } from './manifests.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('what is said of one service', () => {
  const said = {
    replicas: 5,
    image: { digest },
    resources: { requests: { cpu: '500m' } },
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    nodeSelector: { pool: 'ai' },
    tolerations: [{ key: 'ai', operator: 'Exists' }],
    priorityClassName: 'important',
    extraEnv: [{ name: 'ONE', value: '1' }],
    extraEnvFrom: [{ secretRef: { name: 'more' } }],
    extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
    labels: { team: 'ai' },
    annotations: { owner: 'ai' },
    podAnnotations: { mesh: 'off' },
    serviceAccount: { annotations: { role: 'ai' } },
    minReadySeconds: 3,
    readinessProbe: { periodSeconds: 1 },
  };

  it('holds for it', () => {
    const manifests = render({ services: { agent: said } });
    const { metadata, spec } = named(manifests, 'Deployment', 'gatehouse-agent');
    expect(spec).toMatchObject({ replicas: 5, minReadySeconds: 3 });
    expect(metadata).toMatchObject({ labels: said.labels, annotations: said.annotations });
    expect(spec?.template.metadata).toMatchObject({ labels: said.labels, annotations: said.podAnnotations });
    const { affinity, nodeSelector, tolerations, priorityClassName } = said;
    expect(spec?.template.spec).toMatchObject({ affinity, nodeSelector, tolerations, priorityClassName });
    const container = spec?.template.spec?.containers[0];
    expect(container?.image).toBe(`registry.example.com/gatehouse/agent@${digest}`);
    expect(container?.resources).toEqual({
      requests: { cpu: '500m', memory: '256Mi' },
      limits: { memory: '768Mi' },
    });
    expect(container?.env).toContainEqual({ name: 'ONE', value: '1' });
    expect(container?.envFrom).toEqual(said.extraEnvFrom);
    expect(container?.volumeMounts).toEqual(said.extraVolumeMounts);
    expect(spec?.template.spec?.volumes).toEqual(said.extraVolumes);
    expect(container?.readinessProbe).toMatchObject({ periodSeconds: 1, failureThreshold: 3 });
    expect(named(manifests, 'ServiceAccount', 'gatehouse-agent').metadata?.annotations).toEqual({
      role: 'ai',
    });
  });

  it('holds for no other', () => {
    const others = (values: Values) =>
      ofKind(render(values), 'Deployment').filter(({ metadata }) => metadata?.name !== 'gatehouse-agent');
    expect(others({ services: { agent: said } })).toEqual(others({}));
    expect(others({})).toHaveLength(serviceNames.length - 1);
  });

  it('wins over the defaults, nothing and zero included', () => {
    const manifests = render({
      defaults: {
        autoscaling: { enabled: true },
        priorityClassName: 'important',
        nodeSelector: { pool: 'ai' },
      },
      services: {
        chat: {
          autoscaling: { enabled: false },
          replicas: 0,
          drainDelaySeconds: 0,
          priorityClassName: '',
          topologySpreadConstraints: [],
          podDisruptionBudget: { enabled: false },
        },
      },
    });
    const { spec } = named(manifests, 'Deployment', 'gatehouse-chat');
    expect(spec?.replicas).toBe(0);
    expect(spec?.template.spec).not.toHaveProperty('priorityClassName');
    expect(spec?.template.spec).not.toHaveProperty('topologySpreadConstraints');
    expect(spec?.template.spec?.nodeSelector).toEqual({ pool: 'ai' });
    expect(spec?.template.spec?.terminationGracePeriodSeconds).toBe(315);
    const without = (kind: 'HorizontalPodAutoscaler' | 'PodDisruptionBudget') =>
      ofKind(manifests, kind).map(({ metadata }) => metadata?.name);
    const rest = ['agent', 'analytics', 'edge', 'memory', 'tenant', 'webhook'].map(
      (name) => `gatehouse-${name}`,
    );
    expect(without('HorizontalPodAutoscaler')).toEqual(rest);
    expect(without('PodDisruptionBudget')).toEqual(rest);
  });

  it.each(serviceNames)('takes the limits of %s away by null', (service) => {
    const pods = servicePods(render({ services: { [service]: { resources: { limits: null } } } }));
    for (const [name, { containers }] of pods) {
      const { requests, ...rest } = containers[0]?.resources ?? {};
      expect(requests).toHaveProperty('memory');
      expect(rest).toEqual(name === service ? {} : { limits: { memory: '768Mi' } });
    }
  });

  it('adds variables to those of all services', () => {
    const pods = servicePods(
      render({
        defaults: { extraEnv: [{ name: 'ALL', value: '1' }] },
        services: { chat: { extraEnv: [{ name: 'ONE', value: '2' }] } },
      }),
    );
    const names = (service: string) =>
      pods
        .get(service)
        ?.containers[0]?.env?.map(({ name }) => name)
        .slice(-2);
    expect(names('chat')).toEqual(['ALL', 'ONE']);
    expect(names('edge')?.at(-1)).toBe('ALL');
  });
});

describe('replicas', () => {
  it('are two of each service unless said otherwise, spread over nodes and zones, and may all be drained', () => {
    const manifests = render();
    for (const { spec } of ofKind(manifests, 'Deployment')) {
      expect(spec?.replicas).toBe(2);
      expect(
        spec?.template.spec?.topologySpreadConstraints?.map(({ topologyKey, whenUnsatisfiable }) => [
          topologyKey,
          whenUnsatisfiable,
        ]),
      ).toEqual([
        ['kubernetes.io/hostname', 'ScheduleAnyway'],
        ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
      ]);
    }
    const budgets = ofKind(manifests, 'PodDisruptionBudget');
    expect(budgets).toHaveLength(serviceNames.length);
    for (const { spec } of budgets) {
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
      expect(spec).not.toHaveProperty('minAvailable');
    }
  });

  it.each<[string, Values, object]>([
    ['of all', { defaults: { podDisruptionBudget: { minAvailable: 0 } } }, { minAvailable: 0 }],
    [
      'of all, the other one null',
      { defaults: { podDisruptionBudget: { minAvailable: '50%', maxUnavailable: null } } },
      { minAvailable: '50%' },
    ],
    ['of one', { services: { chat: { podDisruptionBudget: { minAvailable: 1 } } } }, { minAvailable: 1 }],
    [
      'of one, the other one null',
      { services: { chat: { podDisruptionBudget: { minAvailable: 1, maxUnavailable: null } } } },
      { minAvailable: 1 },
    ],
    [
      'of all but one',
      {
        defaults: { podDisruptionBudget: { minAvailable: 1 } },
        services: { chat: { podDisruptionBudget: { minAvailable: null, maxUnavailable: 2 } } },
      },
      { maxUnavailable: 2 },
    ],
  ])('may be bounded by how many must stay, alone: %s', (_name, values, bound) => {
    const { spec } = named(render(values), 'PodDisruptionBudget', 'gatehouse-chat');
    expect({ minAvailable: spec?.minAvailable, maxUnavailable: spec?.maxUnavailable }).toEqual(bound);
  });

  it('are the autoscaler’s affair where there is one', () => {
    const manifests = render({
      services: { chat: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 12 } } },
    });
    expect(named(manifests, 'Deployment', 'gatehouse-chat').spec).not.toHaveProperty('replicas');
    expect(named(manifests, 'Deployment', 'gatehouse-edge').spec?.replicas).toBe(2);
    const autoscalers = ofKind(manifests, 'HorizontalPodAutoscaler');
    expect(
      autoscalers.map(({ metadata, spec }) => [metadata?.name, spec.minReplicas, spec.maxReplicas]),
    ).toEqual([['gatehouse-chat', 3, 12]]);
    expect(autoscalers[0]?.spec.metrics).toEqual([
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
      },
    ]);
    expect(autoscalers[0]?.spec.behavior?.scaleDown?.stabilizationWindowSeconds).toBe(300);
  });
});

describe('images', () => {
  const imageOf = (values: Values) => servicePods(render(values)).get('chat')?.containers[0]?.image;
  it.each<[string, Values, string]>([
    ['the chart’s own version', {}, 'registry.example.com/gatehouse/chat:0.3.0'],
    [
      'a registry',
      { image: { registry: 'registry.example.com:5000' } },
      'registry.example.com:5000/gatehouse/chat:0.3.0',
    ],
    [
      'a path and a tag',
      { image: { registry: 'r.example.com', repository: 'ai/gw', tag: '2' } },
      'r.example.com/ai/gw/chat:2',
    ],
    [
      'one service’s tag',
      { image: { registry: 'docker.io', tag: '2' }, services: { chat: { image: { tag: '3' } } } },
      'docker.io/gatehouse/chat:3',
    ],
    [
      'one service’s digest',
      {
        image: { registry: 'r.example.com' },
        services: { chat: { image: { repository: 'own/chat', digest } } },
      },
      `r.example.com/own/chat@${digest}`,
    ],
  ])('are named by %s', (_name, values, image) => {
    expect(imageOf(values)).toBe(image);
  });
});

describe('security contexts', () => {
  it('can leave users to the cluster, as OpenShift wants it', () => {
    const none = { runAsUser: null, runAsGroup: null, fsGroup: null };
    for (const { spec } of podsOf(render({ podSecurityContext: none }))) {
      expect(spec.securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
    }
  });
});

describe('names', () => {
  it('fit into 63 characters, however long the operator’s is', () => {
    for (const { metadata } of render({ fullnameOverride: 'a'.repeat(63), secrets: { keep: false } })) {
      expect(metadata?.name).toMatch(/^[a-z][-a-z0-9]{0,62}$/);
    }
  });

  it('have the release in them once', () => {
    expect(ofKind(render(), 'Deployment').map(({ metadata }) => metadata?.name)).toContain('gatehouse-chat');
    const others = ofKind(render({ nameOverride: 'gw' }), 'Deployment').map(({ metadata }) => metadata?.name);
    expect(others).toContain('gatehouse-gw-chat');
  });
});
