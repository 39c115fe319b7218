import type { Agent, PatchAgent } from '@gatehouse/contract/agents';
import { fieldText, mergePatchOf, textOrNull, trimmed } from '../format/changes.ts';

/** The parameters with a field of their own. */
const known = ['temperature', 'max_tokens'] as const;

type PlainFields = Pick<
  Agent,
  'key' | 'name' | 'description' | 'model' | 'system_prompt' | 'status' | 'visibility'
>;

/** An object with some of its members as text, as a person types them. */
type AsText<Whole, Name extends keyof Whole> = Omit<Whole, Name> & Record<Name, string>;
export type ToolsDraft = AsText<Agent['tools'], 'max_iterations' | 'max_cost_usd'>;
export type MemoryDraft = AsText<Agent['memory'], 'recall_limit' | 'min_score'>;

/** The fields of an agent: numbers are text until they are sent. */
export interface AgentDraft extends PlainFields, Record<(typeof known)[number], string> {
  tools: ToolsDraft;
  memory: MemoryDraft;
  model_fallbacks: readonly string[];
  /** All other parameters, as JSON. */
  parameters: string;
  owner_user_id: string;
}

export const newAgent: AgentDraft = {
  ...{ key: '', name: '', description: '', model: '', system_prompt: '', model_fallbacks: [] },
  ...{ temperature: '', max_tokens: '', parameters: '', owner_user_id: '' },
  ...{ status: 'active', visibility: 'tenant' },
  tools: { mcp_servers: [], builtin: [], web_hosts: [], max_iterations: '10', max_cost_usd: '' },
  memory: { enabled: false, recall_limit: '5', min_score: '0.25', write: false, analyser: 'english' },
};

export function agentDraft(agent: Agent): AgentDraft {
  const { key, name, description, model, system_prompt, status, visibility, tools, memory } = agent;
  const { temperature, max_tokens: most, ...others } = agent.parameters;
  return {
    ...{ key, name, description, model, system_prompt, status, visibility },
    tools: {
      ...tools,
      max_iterations: String(tools.max_iterations),
      max_cost_usd: fieldText(tools.max_cost_usd),
    },
    memory: {
      ...memory,
      recall_limit: String(memory.recall_limit),
      min_score: String(memory.min_score),
    },
    model_fallbacks: agent.model_fallbacks,
    ...{ temperature: numberText(temperature), max_tokens: numberText(most) },
    parameters: Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2),
    owner_user_id: fieldText(agent.owner_user_id),
  };
}

/** Whether the other parameters are an object of JSON, or nothing. */
export function hasParameters({ parameters }: AgentDraft): boolean {
  return objectIn(parameters) !== null;
}

/** An agent of a draft as the API takes it. */
export function agentBody(draft: AgentDraft) {
  const { temperature, max_tokens: most, parameters, owner_user_id: owner, ...rest } = draft;
  const { tools, memory } = draft;
  return {
    ...rest,
    tools: {
      ...tools,
      mcp_servers: trimmed(tools.mcp_servers),
      web_hosts: trimmed(tools.web_hosts),
      max_iterations: Number(tools.max_iterations),
      max_cost_usd: textOrNull(tools.max_cost_usd),
    },
    memory: {
      ...memory,
      recall_limit: Number(memory.recall_limit),
      min_score: Number(memory.min_score),
    },
    model_fallbacks: trimmed(draft.model_fallbacks),
    owner_user_id: draft.visibility === 'private' ? textOrNull(owner) : null,
    parameters: {
      ...objectIn(parameters),
      ...(temperature !== '' && { temperature: Number(temperature) }),
      ...(most !== '' && { max_tokens: Number(most) }),
    },
  };
}

/** The body for a new agent. */
export function newAgentBody(draft: AgentDraft) {
  const { name, owner_user_id: owner, ...body } = agentBody(draft);
  return { ...body, ...(name !== '' && { name }), ...(owner !== null && { owner_user_id: owner }) };
}

/** The changes of a person: what is left as it was may have been changed elsewhere. */
export function agentChanges(before: AgentDraft, draft: AgentDraft): PatchAgent {
  return mergePatchOf(agentBody(before), agentBody(draft));
}

function numberText(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

function objectIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : null;
  } catch {
    return null;
  }
}
