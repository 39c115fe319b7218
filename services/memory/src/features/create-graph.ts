import { extractHandlers } from '../http/extract.ts';
import { graphHandlers } from '../http/graph.ts';
import { GraphStore } from '../store/graph/graph-store.ts';
import { TraversalStore } from '../store/graph/traversal-store.ts';
import type { Ground } from './ground.ts';

/** The knowledge graph of agents. */
export function createGraph({ app, peers, changes, work }: Ground) {
  const { agents, completions, limits } = peers;
  const limitsOf = (tenantId: string) => limits.limitsOf(tenantId);
  const graphs = new GraphStore(app);
  const traversals = new TraversalStore(app);
  return {
    handlers: {
      ...graphHandlers({ agents, graphs, traversals, changes, work, limitsOf }),
      ...extractHandlers({ agents, completions, changes, work, limitsOf }),
    },
  };
}
