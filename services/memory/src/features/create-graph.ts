import type { Changes } from '@gatehouse/changes/changes';
import type { Turns } from '@gatehouse/kit/turns';
import type { Pool } from '@gatehouse/pg/pool';
import { extractHandlers } from '../http/extract.ts';
import { graphHandlers } from '../http/graph.ts';
import type { Peers } from '../peers/peers.ts';
import { GraphStore } from '../store/graph/graph-store.ts';
import { TraversalStore } from '../store/graph/traversal-store.ts';

export interface GraphOptions {
  app: Pool;
  peers: Peers;
  changes: Changes;
  work: Turns;
}

/** The knowledge graph of agents. */
export function createGraph({ app, peers, changes, work }: GraphOptions) {
  const { agents, completions, limits } = peers;
  const limitsOf = (tenantId: string) => limits.of(tenantId);
  const graphs = new GraphStore(app);
  const traversals = new TraversalStore(app);
  return {
    handlers: {
      ...graphHandlers({ agents, graphs, traversals, changes, work, limitsOf }),
      ...extractHandlers({ agents, completions, changes, work, limitsOf }),
    },
  };
}
