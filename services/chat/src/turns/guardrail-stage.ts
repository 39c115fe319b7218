import { cooperativeFor, runSteps, type InTurn } from '@gatehouse/kit/cooperative-steps';
import type { Passage } from '@gatehouse/proto/memory/v1/memory';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import { sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import type { TurnTools } from '../tools/tool-loop.ts';
import type { ToolDefinitions } from '../tools/tool-set.ts';
import type { TurnContext, TurnStage } from './turn-stage.ts';

/**
 * Refuses requests blocked by guardrails, and checks the additions of an agent to the others: its prompt, its tools, their
 * arguments and results. The reader of a request has checked the texts of its client.
 */
export const guardrailStage: TurnStage = {
  admitted: (turn) => (turn.guardrails === null ? undefined : checkAdditions(turn, turn.guardrails)),
};

/** Checks the prompt and the tools of an agent. Throws `content_blocked` for one with blocked texts. */
export async function checkAdditions(turn: TurnContext, guardrails: RunGuardrails): Promise<void> {
  guardrails.admit();
  const { target, tools, actor, dialect } = turn;
  const { systemPrompt } = target;
  const length = (systemPrompt?.length ?? 0) + (tools?.definitions.text.length ?? 0);
  const inTurn = cooperativeFor({ length }, actor.tenantId);
  if (systemPrompt !== null) {
    const passed = guardrails.textPassed(systemPrompt, { kind: 'system', isOlder: false });
    turn.target = {
      ...target,
      systemPrompt: await runSteps(passed, inTurn),
    };
  }
  if (tools !== null) {
    const { text } = tools.definitions;
    const passed = guardrails.definitionsPassed(text, dialect.texts.request);
    const definitions = await runSteps(passed, inTurn);
    turn.tools = {
      ...tools,
      definitions: definitions === text ? tools.definitions : definedBy(definitions),
      call: guardedCall(tools.call, guardrails, inTurn),
    };
  }
  guardrails.assertPassed();
}

/**
 * A blocked call, or a blocked result, is answered with a sentence for the model. All calls of the turn share `inTurn`: many
 * at once do not hold the event loop.
 */
function guardedCall(call: TurnTools['call'], guardrails: RunGuardrails, inTurn: InTurn): TurnTools['call'] {
  return async (tool, argumentsJson, signal) => {
    const passed = await runSteps(guardrails.argumentsPassed(argumentsJson), inTurn);
    if ('blocked' in passed)
      return { content: passed.blocked, outcome: 'content_blocked', argumentsJson: '{}' };
    const { content, outcome } = await call(tool, passed.argumentsJson, signal);
    const checked = await runSteps(guardrails.resultPassed(content), inTurn);
    return { content: checked, outcome, argumentsJson: passed.argumentsJson };
  };
}

function definedBy(text: Buffer): ToolDefinitions {
  return { text, sample: sampleOf(text.toString()) };
}

/** How passages of an agent's memory pass the guardrails of a turn; undefined without any. */
export function passagesPassed({
  guardrails,
  actor: { tenantId },
}: TurnContext): ((passages: readonly Passage[]) => Promise<readonly Passage[]>) | undefined {
  if (guardrails === null) return undefined;
  // All passages share it: many at once do not hold the event loop.
  const inTurn = cooperativeFor({ length: 0 }, tenantId);
  const passed = async (text: string): Promise<string> =>
    runSteps(guardrails.textPassed(text, { kind: 'user', isOlder: true }), inTurn);
  return (passages) =>
    Promise.all(
      passages.map(async (passage) => ({
        ...passage,
        path: await passed(passage.path),
        ...(passage.title !== undefined && { title: await passed(passage.title) }),
        text: await passed(passage.text),
      })),
    );
}
