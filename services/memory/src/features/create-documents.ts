import type { Rpc } from '@gatehouse/grpc/rpc';
import { withTenant } from '@gatehouse/pg/pool';
import type { GetUsageRequest, GetUsageResponse } from '@gatehouse/proto/memory/v1/memory';
import { documentHandlers } from '../http/documents.ts';
import { remember } from '../rpc/remember.ts';
import { DocumentStore } from '../store/documents/document-store.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import { GraphStore } from '../store/graph/graph-store.ts';
import { tenantUsage } from '../store/scopes/scope-store.ts';
import type { Ground } from './ground.ts';

/** Documents: those that clients put, and turns of conversations. */
export function createDocuments(options: Ground) {
  const { app, rpc, splitter, changes, work } = options;
  const { agents, limits } = options.peers;
  const requestEmbeddings = options.requestJob('embed');
  const getUsage: Rpc<GetUsageRequest, GetUsageResponse> = {
    callers: ['tenant'],
    handle: ({ tenantId }) => withTenant(rpc, tenantId, (db) => tenantUsage(db, tenantId)),
  };
  return {
    handlers: documentHandlers({
      documents: new DocumentStore(app),
      graphs: new GraphStore(app),
      forgetting: new ForgetStore(app),
      ...{ agents, limits, splitter, changes, requestEmbeddings, work },
    }),
    rpcs: { remember: remember(rpc, { limits, requestEmbeddings }), getUsage },
  };
}
