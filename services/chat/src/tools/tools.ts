import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { ProvenActor } from '../shared/actor.ts';
import type { ServerTool, ToolDefinitions, ToolDialect, ToolSet } from './tool-set.ts';

/** Tools that the gateway calls itself in a turn. */
export interface TurnTools {
  /** By the names that models get. */
  byName: ReadonlyMap<string, ServerTool>;
  /** The definitions that each request gets. */
  definitions: ToolDefinitions;
  maxIterations: number;
  /** Once the run has cost so much, it calls no more tools; null for no limit. */
  maxCostPico: bigint | null;
  /** Whether a stream shows the calls of tools as events. */
  shown: boolean;
  call: (tool: ServerTool, argumentsJson: string, signal: AbortSignal) => Promise<CallToolResponse>;
}

/** A call of a tool of an agent. */
export interface ToolCallOf {
  agentId: string;
  /** The analyser of the agent's memory. */
  analyser: string;
  tool: ServerTool;
  argumentsJson: string;
}

export interface ToolDependencies {
  tools: {
    list: (actor: ProvenActor, agentId: string, dialect: ToolDialect) => Promise<ToolSet>;
    call: (actor: ProvenActor, call: ToolCallOf, signal: AbortSignal) => Promise<CallToolResponse>;
  };
  log: Logger;
}

export interface ToolTurn {
  dialect: ToolDialect;
  request: AcceptedRequest;
  actor: ProvenActor;
  target: Target;
  /** Whether the client asked for events of calls in its stream. */
  shown?: boolean;
  /** Awaited before a call that must not be made again, where the turn may be repeated. */
  act?: () => Promise<void>;
}

/**
 * The tools of an agent for a turn; null if it has none. A tool of the client with the same name replaces that of the
 * agent. While the agent service is away, the agent answers without its tools. Throws a 400 for several answers at once.
 */
export async function withTools(
  { tools, log }: ToolDependencies,
  { dialect, request, actor, target, shown = false, act }: ToolTurn,
): Promise<TurnTools | null> {
  const { agentId, tools: settings } = target;
  if (settings === null || agentId === null) return null;
  const { analyser, ...limits } = settings;
  if (request.choicesWith(target.defaults) > 1)
    throw new AppError('invalid_value', 'An agent with tools gives one answer: n must be 1.', { param: 'n' });
  const offered = await tools.list(actor, agentId, dialect).catch((error: unknown) => {
    log.warn(
      { err: error, request_id: actor.requestId, agent_id: agentId },
      'an agent answers without its tools',
    );
    return null;
  });
  const set = offered?.without(request.toolNames);
  if (set === undefined || set.byName.size === 0) return null;
  return {
    ...{ byName: set.byName, definitions: set.definitions },
    ...limits,
    shown,
    call: async (tool, argumentsJson, signal) => {
      if (!tool.repeatable) await act?.();
      return tools.call(actor, { agentId, analyser, tool, argumentsJson }, signal);
    },
  };
}
