import type { Changes } from '@gatehouse/audited-changes/changes';
import {
  documentPath,
  type Forget,
  type listDocuments,
  type MemoryCounts,
  type PutDocument,
} from '@gatehouse/contract/memory';
import { type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, pathParameter } from '@gatehouse/http/resource';
import type { FairQueue } from '@gatehouse/kit/fair-queue';
import type { UserIdLookup } from '@gatehouse/shell/user-id-lookup';
import type { z } from 'zod';
import { assertFits, auditView, showDocument } from '../documents/document.ts';
import { forgottenBy } from '../documents/forget.ts';
import type { Splitter } from '../documents/splitter.ts';
import type { MemoryAgents } from '../clients/agents.ts';
import type { MemoryLimitsClient } from '../clients/memory-limits.ts';
import { agentScope, readableUsers, writableUser } from '../shared/memory-key.ts';
import { deleteDocument, putDocument, type DocumentStore } from '../store/documents/document-store.ts';
import type { ForgetStore } from '../store/forgetting/forget-store.ts';
import type { GraphStore } from '../store/graph/graph-store.ts';
import type { RequestJob } from '../store/scopes/job-request.ts';
import { memoryOf } from './memory-call.ts';
import { sharedChange } from './shared-change.ts';

type List = Call<unknown, z.output<typeof listDocuments>>;

const what = 'document';

export interface DocumentDependencies {
  agents: MemoryAgents;
  userIds: UserIdLookup;
  documents: DocumentStore;
  graphs: GraphStore;
  forgetting: ForgetStore;
  splitter: Splitter;
  changes: Changes;
  requestEmbeddings: RequestJob;
  limits: MemoryLimitsClient;
  /** Limits the work one tenant has under way. */
  work: FairQueue;
}

/** `/v1/agents/{agentID}/memory/documents*`, `forget` and `stats`. */
export function documentHandlers(dependencies: DocumentDependencies): Record<string, Handler> {
  const { agents, userIds, documents, graphs, forgetting, splitter, changes, requestEmbeddings, work } =
    dependencies;
  const tenantLimits = dependencies.limits;
  return {
    'memory.documents.list': async (call: List) => {
      const { key, principal } = await memoryOf(call, agents);
      const { limit, cursor, path_prefix: pathPrefix = null } = call.query;
      const filter = { pathPrefix, limit, before: decodeCursor(cursor) };
      return {
        body: pageOf(await documents.list(key, readableUsers(principal), filter), limit, showDocument),
      };
    },

    'memory.documents.get': async (call: Call) => {
      const { key, principal } = await memoryOf(call, agents);
      const document = orNotFound(await documents.find(key, readableUsers(principal), pathOf(call)), what);
      return { body: { ...showDocument(document), text: document.text } };
    },

    'memory.documents.put': async (call: Call<PutDocument>) => {
      const { key, principal } = await memoryOf(call, agents);
      const { text, title = null, metadata = {}, scope } = call.body;
      const userId = writableUser(principal, scope);
      const path = pathOf(call);
      assertFits(text, metadata);
      const at = new Date();
      return work.run(key.tenantId, async () => {
        const limits = await tenantLimits.limitsOf(key.tenantId, call);
        const passages = await splitter.split(text, key.tenantId);
        const source = { kind: 'api', run_id: null, session_id: null } as const;
        return changes.change(call, async (db) => {
          const put = { path, userId, title, metadata, source, text, passages, at };
          const { document, created } = orNotFound(
            await putDocument(db, key, put, { limits }),
            'user: their data were deleted meanwhile',
          );
          await requestEmbeddings(db, key);
          const after = auditView(document);
          const action = created ? 'memory_document.created' : 'memory_document.updated';
          return {
            status: created ? 201 : 200,
            body: showDocument(document),
            changes: userId === agentScope ? [{ action, id: document.id, before: null, after }] : [],
          };
        });
      });
    },

    'memory.documents.delete': async (call: Call) => {
      const { key, principal } = await memoryOf(call, agents);
      const userId = writableUser(principal);
      const path = pathOf(call);
      return changes.change(call, async (db) => {
        const document = orNotFound(await deleteDocument(db, key, userId, path), what);
        const before = auditView(document);
        const action = 'memory_document.deleted';
        return { changes: userId === agentScope ? [{ action, id: document.id, before, after: null }] : [] };
      });
    },

    'memory.forget': async (call: Call<Forget>) => {
      const memory = await memoryOf(call, agents);
      const { key, principal } = memory;
      const { user_id: named } = call.body;
      const userId = named === undefined ? undefined : await userIds.find(call, named);
      const which = forgottenBy(principal, { ...call.body, user_id: userId });
      const counts: MemoryCounts = await work.run(key.tenantId, () => forgetting.forget(key, which));
      return changes.change(call, async () => ({
        body: counts,
        changes: sharedChange('memory.forgotten', memory, { before: counts }),
      }));
    },

    'memory.stats': async (call: Call) => {
      const { key, principal } = await memoryOf(call, agents);
      const users = readableUsers(principal);
      const [stored, graph] = await Promise.all([documents.stats(key, users), graphs.count(key, users)]);
      return { body: { ...stored, ...graph } };
    },
  };
}

/** Throws `invalid_value` for a path no document can have. */
function pathOf(call: Call): string {
  return pathParameter(call.params, 'path', documentPath);
}
