import { isObject } from '../values.ts';
import { anthropicRules } from './anthropic.ts';
import { converseRules } from './converse.ts';
import { geminiRules } from './gemini.ts';
import { modelBehind } from './model-name.ts';
import { openAiRules } from './openai.ts';
import { refusalBy, type ProviderRule } from './rule.ts';
import { vertexRules } from './vertex.ts';

/** All rules by the API that has them. */
export const rulesByApi = {
  messages: anthropicRules,
  openai: openAiRules,
  gemini: geminiRules,
  converse: converseRules,
  vertex: vertexRules,
} as const satisfies Record<string, readonly ProviderRule[]>;

const atVertex = [...geminiRules, ...vertexRules];

/** Why a provider refuses a request to a model on this path; null if it doesn't. */
export function strictRefusal(path: string, body: unknown, model: string): string | null {
  const rules = rulesOf(path);
  return rules === null || !isObject(body) ? null : refusalBy(rules, body, modelBehind(model));
}

function rulesOf(path: string): readonly ProviderRule[] | null {
  if (/^\/v1\/(?:chat\/completions|responses)(?:\?|$)/.test(path)) return rulesByApi.openai;
  if (/^\/v1\/messages(?:\?|$)/.test(path)) return rulesByApi.messages;
  if (/\/publishers\/google\/.*:(?:streamG|g)enerateContent/.test(path)) return atVertex;
  if (/:(?:streamG|g)enerateContent/.test(path)) return rulesByApi.gemini;
  if (/^\/model\/[^/]+\/invoke|:(?:streamR|r)awPredict$/.test(path)) return rulesByApi.messages;
  return /^\/model\/[^/]+\/converse/.test(path) ? rulesByApi.converse : null;
}
