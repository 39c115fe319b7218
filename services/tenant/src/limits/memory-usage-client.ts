import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import type { Logger } from '@gatehouse/kit/log';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { MemoryAmounts } from './memory-limits.ts';

/** The rest of the list of limits does not wait longer for memory. */
const deadlineMs = 1_000;

type Caller = Pick<CallContext, 'requestId' | 'trace'> & { log: Logger };

/** The use that tenants make of their limits of memory. */
export class MemoryUsageClient {
  readonly #peer: RpcClient<MemoryServiceClient>;

  constructor(peer: RpcClient<MemoryServiceClient>) {
    this.#peer = peer;
  }

  /** Null while memory does not answer. */
  async find(tenantId: string, { requestId, trace, log }: Caller): Promise<MemoryAmounts | null> {
    try {
      const used = await this.#peer.call('getUsage', { tenantId }, { deadlineMs, requestId, trace });
      return {
        documents: Number(used.documents),
        bytes: Number(used.bytes),
        entities: Number(used.entities),
      };
    } catch (error) {
      log.warn({ err: error, tenant_id: tenantId }, 'failed to read what the tenant uses of its memory');
      return null;
    }
  }
}
