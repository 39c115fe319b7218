/** One step of a traversal. */
export interface Step {
  /** The entities the step before has found. */
  frontier: readonly string[];
  /** All entities found so far. */
  visited: readonly string[];
  /** At most so many are asked for. */
  limit: number;
}

/** The graph, as a traversal sees it. */
export interface GraphReader {
  /**
   * Unvisited neighbours of the frontier, the most strongly connected first; null if there is no time left to find
   * them.
   */
  neighbours(step: Step): Promise<readonly string[] | null>;
  /** Whether an entity of the frontier has more relations than `neighbours` follows. */
  isCut(frontier: readonly string[]): Promise<boolean>;
}

export interface Bounds {
  depth: number;
  maxNodes: number;
}

export interface Traversal {
  /** The distance of each visited entity, in the order of the visit. */
  distances: Map<string, number>;
  truncated: boolean;
}

/** Visits entities connected to `starts` breadth-first, so each has its shortest distance. */
export async function traverse(
  starts: readonly string[],
  { depth, maxNodes }: Bounds,
  graph: GraphReader,
): Promise<Traversal> {
  const distances = new Map([...new Set(starts)].slice(0, maxNodes).map((id) => [id, 0]));
  let truncated = new Set(starts).size > maxNodes;
  let frontier: readonly string[] = [...distances.keys()];
  for (let distance = 1; distance <= depth && frontier.length > 0; distance += 1) {
    const room = maxNodes - distances.size;
    // One more than fits shows a cut.
    const neighbours = await graph.neighbours({ frontier, visited: [...distances.keys()], limit: room + 1 });
    if (neighbours === null) return { distances, truncated: true };
    truncated ||= neighbours.length > room || (await graph.isCut(frontier));
    frontier = neighbours.slice(0, room);
    for (const id of frontier) distances.set(id, distance);
    if (neighbours.length > room) break;
  }
  return { distances, truncated };
}
