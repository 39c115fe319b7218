import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import { tenantOf, type Call } from '@gatehouse/http/app';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/** Ids of users named in the bodies of rare requests; nothing is cached. */
export class UserIdLookup {
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  /**
   * The id of a user of the caller's tenant by any name, also of a blocked one; the name itself outside the directory.
   * Throws `service_unavailable`.
   */
  async find(call: Pick<Call, 'principal' | 'requestId' | 'trace'>, name: string): Promise<string> {
    const { tenantId, hasUsers } = tenantOf(call);
    if (hasUsers !== true) return name;
    const { requestId, trace } = call;
    const context = { deadlineMs: lookupDeadlineMs, requestId, trace };
    const { user } = await this.#peer.call('resolveUser', { tenantId, name }, context).catch(hangIsOutage);
    return user?.userId ?? name;
  }
}
