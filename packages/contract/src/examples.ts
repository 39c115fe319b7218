import { agentExamples } from './examples/agents.ts';
import { analyticsExamples } from './examples/analytics.ts';
import { apiKeyExamples } from './examples/api-keys.ts';
import { chatExamples } from './examples/chat.ts';
import type { Examples } from './examples/example.ts';
import { gatewayExamples } from './examples/gateway.ts';
import { ownerExamples } from './examples/owner.ts';

/** By route id. */
export const examples: Readonly<Record<string, Examples>> = {
  ...gatewayExamples,
  ...chatExamples,
  ...agentExamples,
  ...analyticsExamples,
  ...apiKeyExamples,
  ...ownerExamples,
};

/** The examples of a route. Throws when it has none: every route is shown in use. */
export function examplesOf(routeId: string): Examples {
  const found = examples[routeId];
  if (found === undefined || Object.keys(found).length === 0) {
    throw new Error(`${routeId} has no example: add one to a file of packages/contract/src/examples`);
  }
  return found;
}
