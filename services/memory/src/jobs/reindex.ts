import type { JobHandler } from '@gatehouse/jobs/task';
import { firstPlace, type PassagePosition } from '../store/search/place.ts';
import type { ReindexStore } from '../store/search/reindex-store.ts';

/** Analyses all passages of an agent another analyser has split into words. */
export function reindexPassages(store: ReindexStore): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, signal }) => {
    const key = { tenantId, agentId };
    do {
      for (let place: PassagePosition | null = firstPlace; place !== null;) {
        signal.throwIfAborted();
        place = await store.analyseNext(key, place);
      }
    } while (!(await store.finish(key)));
  };
}
