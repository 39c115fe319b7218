import { describe, expect, it } from '@jest/globals';
import { combinations } from './combinations.ts';
import { deployedWith, render, serviceNames } from './helm.ts';
import { schemaProblems } from './kubernetes-schema.ts';
import {
  annotation,
  componentOf,
  environmentOf,
  hooksOf,
  nameOf,
  named,
  ofKind,
  podsOf,
  selects,
  servicePods,
  type Pod,
} from './manifests.ts';

/** Variables that are secrets, wherever they come from. */
const secretVariable = /^(ASSERTION_PRIVATE_KEY(_[A-Z]+)?|SECRETS_KEYRING|.*DATABASE_URL(_[A-Z]+)?)$/;
/** Volumes that the `restricted` standard lets a pod have, of those that a chart could want. */
const allowedVolumes = ['configMap', 'secret', 'emptyDir', 'projected', 'downwardAPI', 'csi'];

/** Violations of the `restricted` Pod Security Standard and of a read-only root file system by a pod. */
function restrictedProblems({ spec, containers }: Pod): string[] {
  const problems: string[] = [];
  const must = (rule: string, holds: boolean) => {
    if (!holds) problems.push(rule);
  };
  must('no host namespaces', !spec.hostNetwork && !spec.hostPID && !spec.hostIPC);
  must('runAsNonRoot', spec.securityContext?.runAsNonRoot === true);
  must('no root user', (spec.securityContext?.runAsUser ?? 0) > 0);
  must('seccomp', spec.securityContext?.seccompProfile?.type === 'RuntimeDefault');
  for (const volume of spec.volumes ?? []) {
    must(
      'volumes',
      Object.keys(volume).every((key) => key === 'name' || allowedVolumes.includes(key)),
    );
  }
  for (const { name, securityContext: context, ports } of containers) {
    must(`${name}: no escalation`, context?.allowPrivilegeEscalation === false);
    must(`${name}: not privileged`, context?.privileged !== true);
    must(`${name}: no capabilities`, context?.capabilities?.drop?.includes('ALL') === true);
    must(`${name}: none added`, (context?.capabilities?.add ?? []).length === 0);
    must(`${name}: read-only root`, context?.readOnlyRootFilesystem === true);
    must(`${name}: no root user`, context?.runAsUser === undefined && context?.runAsNonRoot === undefined);
    must(
      `${name}: no host ports`,
      (ports ?? []).every(({ hostPort }) => hostPort === undefined),
    );
  }
  return problems;
}

describe.each(Object.entries(combinations))('an installation with %s', (_name, values) => {
  const manifests = render(values);
  const pods = podsOf(manifests);
  const services = servicePods(manifests);
  const deployed = deployedWith(values);
  const isComposed = values['composed'] === true;

  it('is what Kubernetes takes', async () => {
    const problems = await Promise.all(
      manifests.map(async (manifest) => ({
        object: `${manifest.kind} ${nameOf(manifest)}`,
        problems: await schemaProblems(manifest),
      })),
    );
    expect(problems.filter((object) => object.problems.length > 0)).toEqual([]);
  });

  it('has objects whose names are theirs alone and short enough', () => {
    const names = manifests.map((manifest) => `${manifest.kind} ${nameOf(manifest)}`);
    expect(names).toEqual([...new Set(names)]);
    for (const manifest of manifests) expect(nameOf(manifest)).toMatch(/^gatehouse[-a-z0-9]{0,54}$/);
  });

  it('runs every service, and pods that fit the restricted standard alone', () => {
    expect([...services.keys()].sort()).toEqual(Object.keys(deployed).sort());
    for (const pod of pods)
      expect({ pod: pod.name, problems: restrictedProblems(pod) }).toEqual({ pod: pod.name, problems: [] });
  });

  it('gives a token only to the Jobs that write the Secret', () => {
    for (const pod of pods) {
      const writes = pod.containers.some(({ args }) => args?.[0] === 'src/main.js');
      expect({ pod: pod.name, token: pod.spec.automountServiceAccountToken }).toEqual({
        pod: pod.name,
        token: writes,
      });
    }
    for (const account of ofKind(manifests, 'ServiceAccount')) {
      expect(account.automountServiceAccountToken).toBe(false);
    }
    for (const [service, { spec }] of services) {
      expect(named(manifests, 'ServiceAccount', spec.serviceAccountName ?? '')).toBeDefined();
      expect(spec.serviceAccountName).toBe(`gatehouse-${service}`);
    }
  });

  it('bounds the memory of each container, and asks for its share', () => {
    for (const { containers } of pods) {
      for (const { resources } of containers) {
        expect(resources?.limits).toHaveProperty('memory');
        expect(resources?.requests).toHaveProperty('memory');
        expect(resources?.requests).toHaveProperty('cpu');
      }
    }
  });

  it('shows no secret: each comes from a Secret, and reaches the one whom it is for', () => {
    expect(manifests.map(({ kind }) => kind as string)).not.toContain('Secret');
    for (const pod of pods) {
      for (const container of pod.containers) {
        const { values: shown, secrets } = environmentOf(container);
        expect(Object.keys(shown).filter((name) => secretVariable.test(name))).toEqual([]);
        const mine = container.name.toUpperCase();
        for (const [variable, source] of Object.entries(secrets)) {
          const key = source.split('/')[1] ?? '';
          const another = serviceNames
            .map((name) => name.toUpperCase())
            .filter((name) => name !== mine && container.name !== 'composed');
          expect({ variable, key, another: another.filter((name) => key.endsWith(`_${name}`)) }).toEqual({
            variable,
            key,
            another: [],
          });
        }
      }
    }
    const keyRing = [...services].filter(
      ([, pod]) => 'SECRETS_KEYRING' in environmentOf(pod.containers[0]).secrets,
    );
    expect(keyRing.map(([service]) => service).sort()).toEqual(
      isComposed ? ['composed'] : ['agent', 'chat', 'memory', 'tenant', 'webhook'],
    );
    const owners = pods.filter(({ containers }) =>
      containers.some((container) => 'MIGRATION_DATABASE_URL' in environmentOf(container).secrets),
    );
    expect(['migrations', 'secrets']).toEqual(
      expect.arrayContaining(owners.map(({ component }) => component)),
    );
  });

  it('has a headless Service for each service, which finds its pods and no others', () => {
    for (const service of ofKind(manifests, 'Service')) {
      const found = pods.filter(({ labels }) => selects(service.spec?.selector, labels));
      expect(found.map(({ name }) => name)).toEqual([`gatehouse-${componentOf(service)}`]);
      const open = found[0]?.containers[0]?.ports?.map(({ name }) => name) ?? [];
      for (const port of service.spec?.ports ?? []) expect(open).toContain(port.targetPort);
    }
    for (const [name, { grpc }] of Object.entries(deployed)) {
      const { spec } = named(manifests, 'Service', `gatehouse-${name}-headless`);
      expect(spec?.clusterIP).toBe('None');
      expect(spec?.publishNotReadyAddresses ?? false).toBe(false);
      expect(spec?.ports?.map((port) => [port.name, port.port])).toEqual([
        ['http', 8080],
        ...(grpc === true ? [['grpc', 9000]] : []),
        ['admin', 9090],
      ]);
    }
    const frontDoor = named(manifests, 'Service', 'gatehouse-edge');
    expect(frontDoor.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('has selectors that find the pods they are for', () => {
    for (const deployment of ofKind(manifests, 'Deployment')) {
      const { selector, template } = deployment.spec ?? {};
      const found = pods.filter(({ labels }) => selects(selector?.matchLabels, labels));
      expect(found.map(({ name }) => name)).toEqual([nameOf(deployment)]);
      for (const { labelSelector } of template?.spec?.topologySpreadConstraints ?? []) {
        expect(labelSelector).toEqual(selector);
      }
    }
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'] as const) {
      for (const manifest of ofKind(manifests, kind)) {
        const selector =
          manifest.kind === 'NetworkPolicy' ? manifest.spec?.podSelector : manifest.spec?.selector;
        expect(
          pods.filter(({ labels }) => selects(selector?.matchLabels, labels)).map(({ name }) => name),
        ).toEqual([nameOf(manifest)]);
      }
    }
    for (const { spec, metadata } of ofKind(manifests, 'HorizontalPodAutoscaler')) {
      expect(spec.scaleTargetRef).toEqual({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: metadata?.name,
      });
    }
  });

  it('replaces pods without a gap and lets each finish what it has', () => {
    for (const deployment of ofKind(manifests, 'Deployment')) {
      const { strategy, template } = deployment.spec ?? {};
      // More processes with all services than replicas would need more connections than PostgreSQL allows.
      const maxSurge = nameOf(deployment).endsWith('-composed') ? 0 : 1;
      expect(strategy).toEqual({
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge, maxUnavailable: 1 - maxSurge },
      });
      const container = template?.spec?.containers[0];
      const { values: env } = environmentOf(container);
      const drainMs = Number(env.DRAIN_DELAY_MS) + Number(env.DRAIN_TIMEOUT_MS);
      expect(drainMs).toBeGreaterThan(0);
      expect(template?.spec?.terminationGracePeriodSeconds).toBe(drainMs / 1000 + (isComposed ? 25 : 15));
      expect(container?.startupProbe?.httpGet).toEqual({ path: '/livez', port: 'admin' });
      expect(container?.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'admin' });
      expect(container?.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'admin' });
      expect(container?.ports).toContainEqual({ name: 'admin', containerPort: Number(env.ADMIN_PORT) });
      expect(container?.ports).toContainEqual({ name: 'http', containerPort: Number(env.HTTP_PORT) });
    }
  });

  it('leaves nothing of its hooks: what succeeded goes at once, what failed after its time', () => {
    const hooks = manifests.filter((manifest) => hooksOf(manifest).length > 0);
    expect(hooks.length).toBeGreaterThan(0);
    for (const hook of hooks) {
      expect(annotation(hook, 'helm.sh/hook-delete-policy')).toBe('before-hook-creation,hook-succeeded');
    }
    expect(hooks).toEqual(expect.arrayContaining(ofKind(manifests, 'Job')));
    for (const { spec } of ofKind(manifests, 'Job')) {
      expect(spec?.ttlSecondsAfterFinished).toBe(3600);
      expect(spec?.activeDeadlineSeconds).toBeGreaterThan(0);
      expect(spec?.template.spec?.restartPolicy).toBe('Never');
    }
  });
});
