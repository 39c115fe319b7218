import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import type { Logger } from '@gatehouse/kit/log';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { memoryUsageMs } from '../bounds.ts';
import type { MemoryAmounts } from './stored-limits.ts';

/** Finds a tenant's use of its memory limits; null while memory does not answer. */
export type FindMemoryUsage = (
  tenantId: string,
  caller: Pick<CallContext, 'requestId' | 'trace'> & { log: Logger },
) => Promise<MemoryAmounts | null>;

export function memoryUsageOf(memory: RpcClient<MemoryServiceClient>): FindMemoryUsage {
  return async (tenantId, { requestId, trace, log }) => {
    try {
      const used = await memory.call(
        'getUsage',
        { tenantId },
        { deadlineMs: memoryUsageMs, requestId, trace },
      );
      const { documents, bytes, entities } = used;
      return { documents: Number(documents), bytes: Number(bytes), entities: Number(entities) };
    } catch (error) {
      log.warn({ err: error, tenant_id: tenantId }, 'failed to read what the tenant uses of its memory');
      return null;
    }
  };
}
