import type { RpcClient } from '@gatehouse/grpc/client';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from './shell.ts';

const deadlineMs = 1_000;

/** Follows the changes of keys and tenants, from the start of the service to its stop. */
export function followTenants(shell: Shell, tenant: RpcClient<TenantServiceClient>): ChangeWatch {
  const changes = new ChangeWatch({
    list: (position) => tenant.call('listChanges', { position }, { deadlineMs }),
  });
  shell.add(changes);
  return changes;
}
