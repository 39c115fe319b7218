import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { RememberRequest, RememberResponse } from '@gatehouse/proto/memory/v1/memory';
import { documentOf } from '../documents/conversation.ts';
import type { MemoryLimitsClient } from '../clients/memory-limits.ts';
import { analyserOf } from '../shared/memory-key.ts';
import { putDocument } from '../store/documents/document-store.ts';
import type { RequestJob } from '../store/scopes/job-request.ts';

export interface RememberDependencies {
  limits: MemoryLimitsClient;
  requestEmbeddings: RequestJob;
}

/** Stores a finished turn. `pool` acts as `memory_app`. */
export function remember(
  pool: Pool,
  { limits: tenantLimits, requestEmbeddings }: RememberDependencies,
): Rpc<RememberRequest, RememberResponse> {
  return {
    callers: ['chat'],
    handle: async (request, caller) => {
      const { tenantId, agentId, userId, sessionId, runId, input, output } = request;
      if (![tenantId, agentId, runId].every(isUuid) || userId === '')
        throw new AppError('invalid_value', 'A turn needs a tenant, an agent, a user and a run.');
      const document = documentOf({
        ...{ userId, runId, input, output },
        sessionId: sessionId === '' ? null : sessionId,
        startedAt: new Date(Number(request.startedAtMs)),
      });
      const key = { tenantId, agentId, analyser: analyserOf(request.analyser) };
      const limits = await tenantLimits.limitsOf(tenantId, caller);
      const stored = await withTenant(pool, tenantId, async (db) => {
        const put = await putDocument(db, key, document, { limits, replace: false });
        if (put !== null) await requestEmbeddings(db, key);
        return put !== null;
      });
      return { stored };
    },
  };
}
