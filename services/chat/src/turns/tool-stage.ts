import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import type { AgentToolCall, ToolDialect, ToolSet } from '../tools/tool-set.ts';
import type { ProvenActor } from '../shared/actor.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { StartedTurn, TurnContext, TurnStage } from './turn-stage.ts';

export interface ToolDependencies {
  tools: {
    list: (actor: ProvenActor, agentId: string, dialect: ToolDialect) => Promise<ToolSet>;
    call: (actor: ProvenActor, call: AgentToolCall, signal: AbortSignal) => Promise<CallToolResponse>;
  };
  log: Logger;
}

/**
 * Adds the tools of an agent to a request. A tool of the client replaces the agent's of the same name. While the agent
 * service is away, the agent answers without its tools. Tools that don't exist are failed steps of the run. Throws a 400
 * for several answers at once.
 */
export function toolStage({ tools, log }: ToolDependencies): TurnStage {
  return {
    prepare: (turn, { facts }) => (turn.target.tools === null ? undefined : addTools(turn, facts)),
    request: noteMissing,
  };

  async function addTools(turn: TurnContext, facts: AcceptedRequest): Promise<void> {
    const { target, member, dialect, showsTools: isShown, act } = turn;
    const { agentId, tools: settings } = target;
    if (settings === null || agentId === null || member === null) return;
    const { analyser, ...limits } = settings;
    if (facts.choicesWith(target.defaults) > 1)
      throw new AppError('invalid_value', 'An agent with tools gives one answer: n must be 1.', {
        param: 'n',
      });
    const offered = await tools.list(member, agentId, dialect).catch((error: unknown) => {
      log.warn(
        { err: error, request_id: member.requestId, agent_id: agentId },
        'an agent answers without its tools',
      );
      return null;
    });
    turn.missingTools = offered?.missing ?? [];
    const set = offered?.without(facts.toolNames);
    if (set === undefined || set.byName.size === 0) return;
    turn.tools = {
      ...{ byName: set.byName, definitions: set.definitions, callIds: facts.callIds },
      ...limits,
      shown: isShown,
      call: async (tool, argumentsJson, signal) => {
        if (!tool.repeatable) await act?.();
        return tools.call(member, { agentId, analyser, tool, argumentsJson }, signal);
      },
    };
  }
}

function noteMissing({ run, missingTools }: StartedTurn): undefined {
  for (const name of missingTools) run.noteMissingTool(name);
}
