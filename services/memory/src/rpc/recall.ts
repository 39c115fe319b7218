import { actorOf, type Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { RecallRequest, RecallResponse } from '@gatehouse/proto/memory/v1/memory';
import type { Embedder } from '../clients/embedder.ts';
import { noFilter, type MemorySearch } from '../search/search.ts';
import { subjectOf } from '../search/small-talk.ts';
import { analyserOf, readableUsers } from '../shared/memory-key.ts';

const maxLimit = 50;
const maxQueryChars = 2_000;
/** A turn waits 150 ms for its passages: without the embedding by then, it gets passages with its words. */
const embedWithinMs = 100;

/** Finds passages for a turn of an agent. */
export function recall(search: MemorySearch, embedder: Embedder): Rpc<RecallRequest, RecallResponse> {
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId, analyser, query, limit, minScore }, context) => {
      if (!isUuid(agentId)) throw new AppError('invalid_value', 'Invalid agent_id.', { param: 'agent_id' });
      const { tenantId, userId } = actorOf(context, agentId);
      const subject = subjectOf(query.slice(0, maxQueryChars).toWellFormed().replaceAll('\0', ' '));
      if (subject === '') return { passages: [], mode: 'lexical' };
      const key = { tenantId, agentId, analyser: analyserOf(analyser) };
      const { results, mode } = await search.run(
        key,
        {
          users: readableUsers({ userId }),
          query: subject,
          limit: Math.min(Math.max(limit, 1), maxLimit),
          mode: 'hybrid',
          filter: noFilter,
          minScore: Math.min(Math.max(minScore, 0), 1),
        },
        (text) => embedder.query(context, { agentId, text, withinMs: embedWithinMs }),
      );
      const passages = results.map(({ documentId, path, title, text, startLine, endLine, score }) => ({
        ...{ documentId, path, text, startLine, endLine, score },
        ...(title !== null && { title }),
      }));
      return { passages, mode };
    },
  };
}
