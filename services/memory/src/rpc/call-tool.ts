import {
  argumentProblem,
  kgTraverseArguments,
  maxResultChars,
  memorySearchArguments,
} from '@gatehouse/contract/builtin-tools';
import { shortened } from '@gatehouse/events/cut-text';
import { actorOf, type Rpc, type RpcContext } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { toPgText } from '@gatehouse/pg/text';
import type { CallToolRequest, CallToolResponse } from '@gatehouse/proto/memory/v1/memory';
import type { z } from 'zod';
import type { Embedder } from '../clients/embedder.ts';
import { noFilter, type MemorySearch } from '../search/search.ts';
import { analyserOf, readableUsers, type MemoryKey } from '../shared/memory-key.ts';
import type { TraversalStore } from '../store/graph/traversal-store.ts';

export interface CallToolDependencies {
  search: MemorySearch;
  embedder: Embedder;
  traversals: TraversalStore;
}

/** An agent's memory as the principal of a call sees it. */
interface MemoryView {
  key: MemoryKey;
  users: readonly string[];
  context: RpcContext;
}

/** A model waits for the result, so the meaning of a query is worth more time than in a turn. */
const embedWithinMs = 3_000;
const fanOut = 50;

/** The tools `memory_search` and `kg_traverse` of an agent. */
export function callTool(dependencies: CallToolDependencies): Rpc<CallToolRequest, CallToolResponse> {
  const tools: Readonly<Record<string, Tool>> = {
    memory_search: tool(memorySearchArguments, (args, view) => searchMemory(dependencies, args, view)),
    kg_traverse: tool(kgTraverseArguments, (args, view) => traverseGraph(dependencies, args, view)),
  };
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId, analyser, tool: name, argumentsJson }, context) => {
      if (!isUuid(agentId)) throw new AppError('invalid_value', 'Invalid agent_id.', { param: 'agent_id' });
      const call = tools[name];
      if (call === undefined) throw new AppError('not_found', 'There is no such tool.');
      const { tenantId, userId } = actorOf(context, agentId);
      const key = { tenantId, agentId, analyser: analyserOf(analyser) };
      return call(JSON.parse(argumentsJson, storable), {
        key,
        users: readableUsers({ userId }),
        context,
      });
    },
  };
}

type Tool = (args: unknown, view: MemoryView) => Promise<CallToolResponse>;

/** A tool with its arguments checked. */
function tool<Shape extends z.ZodType>(
  shape: Shape,
  call: (args: z.output<Shape>, view: MemoryView) => Promise<unknown>,
): Tool {
  return async (input, view) => {
    const parsed = shape.safeParse(input);
    if (!parsed.success) return { content: argumentProblem(parsed.error), outcome: 'error' };
    try {
      return {
        content: shortened(JSON.stringify(await call(parsed.data, view)), maxResultChars),
        outcome: 'ok',
      };
    } catch (error) {
      // For example, a start outside the graph.
      if (error instanceof AppError && error.status < 500)
        return { content: error.message, outcome: 'error' };
      throw error;
    }
  };
}

async function searchMemory(
  { search, embedder }: CallToolDependencies,
  { query, limit }: z.output<typeof memorySearchArguments>,
  { key, users, context }: MemoryView,
): Promise<unknown> {
  const searchRequest = { users, query, limit, mode: 'hybrid', filter: noFilter, minScore: 0 } as const;
  const { results } = await search.run(key, searchRequest, (text) =>
    embedder.query(context, { agentId: key.agentId, text, withinMs: embedWithinMs }),
  );
  return results.map(({ path, title, text, startLine, endLine }) => ({
    ...{ path, title, text },
    lines: `${startLine}-${endLine}`,
  }));
}

async function traverseGraph(
  { traversals }: CallToolDependencies,
  query: z.output<typeof kgTraverseArguments>,
  { key, users }: MemoryView,
): Promise<unknown> {
  const { nodes, edges, truncated } = await traversals.traverse(key, users, {
    ...query,
    entity_types: [],
    fan_out: fanOut,
    asOf: null,
  });
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  const ambiguous = new Set(nodes.map(({ name }) => name)).size < nodes.length;
  const show = (id: string): string | undefined => (ambiguous ? id : names.get(id));
  return {
    nodes: nodes.map(({ id, name, type, description, distance }) => ({
      id,
      name,
      type,
      description,
      distance,
    })),
    relations: edges.map(({ sourceId, targetId, type, weight }) => ({
      ...{ source: show(sourceId), type, target: show(targetId), weight },
    })),
    truncated,
  };
}

function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? toPgText(value) : value;
}
