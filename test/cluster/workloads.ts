import type { ServiceName } from '@gatehouse/contract/routes';
import { services } from '@gatehouse/contract/services';
import type { ClusterSettings } from './settings.ts';

/** A workload with a Deployment of its own: a service, or the process that runs all of them. */
export type Workload = ServiceName | 'composed';

export function workloadsOf({ composed }: ClusterSettings): readonly Workload[] {
  return composed ? ['composed'] : services.map(({ name }) => name);
}
