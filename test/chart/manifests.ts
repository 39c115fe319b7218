import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role';
import type { IRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { IService } from 'kubernetes-models/v1/Service';
import type { IServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import type { ICertificate } from '@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate';
import type { IIssuer } from '@kubernetes-models/cert-manager/cert-manager.io/v1/Issuer';
import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute';
import type { IPrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import type { IServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';

/** Everything that the chart makes. */
export type Manifest =
  | ICertificate
  | IConfigMap
  | IDeployment
  | IHorizontalPodAutoscaler
  | IHTTPRoute
  | IIngress
  | IIssuer
  | IJob
  | INetworkPolicy
  | IPodDisruptionBudget
  | IPrometheusRule
  | IRole
  | IRoleBinding
  | IService
  | IServiceAccount
  | IServiceMonitor;

type Kind = Manifest['kind'];
type Labels = Readonly<Record<string, string>>;

export function ofKind<K extends Kind>(
  manifests: readonly Manifest[],
  kind: K,
): Extract<Manifest, { kind: K }>[] {
  return manifests.filter((manifest) => manifest.kind === kind) as Extract<Manifest, { kind: K }>[];
}

/** The one object of a kind with this name; throws if there is none. */
export function named<K extends Kind>(
  manifests: readonly Manifest[],
  kind: K,
  name: string,
): Extract<Manifest, { kind: K }> {
  const found = ofKind(manifests, kind).find((manifest) => nameOf(manifest) === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

export function nameOf(manifest: Manifest): string {
  return manifest.metadata?.name ?? '';
}

/** The part of the system that an object belongs to. */
export function componentOf(manifest: Manifest): string {
  return manifest.metadata?.labels?.['app.kubernetes.io/component'] ?? '';
}

/** When Helm applies an object that is a hook; empty for what belongs to the release. */
export function hooksOf(manifest: Manifest): string[] {
  return annotation(manifest, 'helm.sh/hook')?.split(',') ?? [];
}

export function annotation(manifest: Manifest, name: string): string | undefined {
  return manifest.metadata?.annotations?.[name];
}

export interface Pod {
  /** The name of the Deployment or Job that makes it. */
  name: string;
  component: string;
  labels: Labels;
  spec: IPodSpec;
  /** Init containers first. */
  containers: IContainer[];
}

/** The pods of all Deployments and Jobs. */
export function podsOf(manifests: readonly Manifest[]): Pod[] {
  const owners = [...ofKind(manifests, 'Deployment'), ...ofKind(manifests, 'Job')];
  return owners.map((owner) => {
    const template = owner.spec?.template;
    if (template?.spec === undefined) throw new Error(`${nameOf(owner)} has no pod`);
    return {
      name: nameOf(owner),
      component: componentOf(owner),
      labels: template.metadata?.labels ?? {},
      spec: template.spec,
      containers: [...(template.spec.initContainers ?? []), ...template.spec.containers],
    };
  });
}

/** The pods of services, by service. */
export function servicePods(manifests: readonly Manifest[]): Map<string, Pod> {
  return new Map(podsOf(ofKind(manifests, 'Deployment')).map((pod) => [pod.component, pod]));
}

/** Whether a selector of exact labels takes these labels in; one without labels takes everything. */
export function selects(wanted: Labels | undefined, labels: Labels): boolean {
  return Object.entries(wanted ?? {}).every(([name, value]) => labels[name] === value);
}

/** A container's variables, and the secrets that others come from as `secret/key`. */
export function environmentOf(container: IContainer | undefined): {
  values: Record<string, string>;
  secrets: Record<string, string>;
} {
  const values: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const { name, value, valueFrom } of container?.env ?? []) {
    const from = valueFrom?.secretKeyRef;
    if (from === undefined) values[name] = value ?? '';
    else secrets[name] = `${from.name ?? ''}/${from.key}`;
  }
  return { values, secrets };
}
