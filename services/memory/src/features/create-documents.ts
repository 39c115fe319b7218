import type { Changes } from '@gatehouse/changes/changes';
import type { Turns } from '@gatehouse/kit/turns';
import type { Pool } from '@gatehouse/pg/pool';
import type { Splitter } from '../documents/splitter.ts';
import { documentHandlers } from '../http/documents.ts';
import type { RequestJobs } from '../jobs/background-jobs.ts';
import type { Peers } from '../peers/peers.ts';
import { getUsage } from '../rpc/get-usage.ts';
import { remember } from '../rpc/remember.ts';
import { DocumentStore } from '../store/documents/document-store.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import { GraphStore } from '../store/graph/graph-store.ts';

export interface DocumentsOptions {
  app: Pool;
  rpc: Pool;
  peers: Peers;
  splitter: Splitter;
  changes: Changes;
  work: Turns;
  requestJob: RequestJobs;
}

/** Documents: those that clients put, and turns of conversations. */
export function createDocuments(options: DocumentsOptions) {
  const { app, rpc, splitter, changes, work } = options;
  const { agents, limits } = options.peers;
  const requestEmbeddings = options.requestJob('embed');
  return {
    handlers: documentHandlers({
      documents: new DocumentStore(app),
      graphs: new GraphStore(app),
      forgetting: new ForgetStore(app),
      ...{ agents, limits, splitter, changes, requestEmbeddings, work },
    }),
    rpcs: { remember: remember(rpc, { limits, requestEmbeddings }), getUsage: getUsage(rpc) },
  };
}
