import { documentHandlers } from '../http/documents.ts';
import { getUsage } from '../rpc/get-usage.ts';
import { remember } from '../rpc/remember.ts';
import { DocumentStore } from '../store/documents/document-store.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import { GraphStore } from '../store/graph/graph-store.ts';
import type { Ground } from './ground.ts';

/** Documents put by clients, and turns of conversations. */
export function createDocuments(options: Ground) {
  const { app, rpc, splitter, changes, work } = options;
  const { agents, limits, userIds } = options.peers;
  const requestEmbeddings = options.requestJob('embed');
  return {
    handlers: documentHandlers({
      documents: new DocumentStore(app),
      graphs: new GraphStore(app),
      forgetting: new ForgetStore(app),
      ...{ agents, limits, userIds, splitter, changes, requestEmbeddings, work },
    }),
    rpcs: { remember: remember(rpc, { limits, requestEmbeddings }), getUsage: getUsage(rpc) },
  };
}
