import { cooperativeFor, runSteps, type InTurn } from '@gatehouse/kit/cooperative-steps';
import type { Passage } from '@gatehouse/proto/memory/v1/memory';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Substitution } from '../guardrails/substitution.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import type { TurnTools } from '../tools/tool-loop.ts';
import type { ToolDefinitions } from '../tools/tool-set.ts';
import type { Logger } from '@gatehouse/kit/log';
import { maxHeldBytes } from '../bounds.ts';
import { AnswerBlocked } from '../providers/provider-failure.ts';
import { AnswerGuard } from './answer-guard.ts';
import { askedArguments, askedResult, checkOutside, type OutsideDependencies } from './outside-texts.ts';
import type { StartedTurn, TurnContext, TurnStage } from './turn-stage.ts';

export interface GuardrailDependencies extends OutsideDependencies {
  log: Logger;
}

/**
 * Refuses requests blocked by guardrails, and checks the additions of an agent to the others: its prompt, its parameters, its
 * tools, their arguments and results. The reader of a request has checked the texts of its client. Checks outside are asked
 * once there is a run to pay them. Answers are checked before any other stage has a part in them.
 */
export function guardrailStage(dependencies: GuardrailDependencies): TurnStage {
  return {
    admitted: (turn) => (turn.guardrails === null ? undefined : checkAdditions(turn, turn.guardrails)),
    request(turn, input) {
      // Nothing of an answer is storedCall before it is checked.
      if (turn.guardrails?.checksAnswers === true) turn.run.showAs(() => '');
      return checkOutside(dependencies, turn, input);
    },
    answer(turn) {
      const { guardrails, request, run, tools } = turn;
      if (guardrails === null || request.operation !== 'chat') return null;
      const { checksAnswers, substitution } = guardrails;
      // Results of tools may have values later on.
      const isRestored = substitution !== null && (substitution.isUsed || tools !== null);
      if (!checksAnswers && !isRestored) return null;
      const guard = guardOf(turn, guardrails, {
        ...dependencies,
        restoring: isRestored ? substitution : null,
      });
      turn.answerGuard = guard;
      if (checksAnswers) run.showAs(() => guard.beginning);
      return { filter: guard };
    },
    ended: (turn) => turn.answerGuard?.close(),
  };
}

function guardOf(
  { run, request, dialect, ending, remember }: StartedTurn,
  guardrails: RunGuardrails,
  { answers, log, restoring }: GuardrailDependencies & { restoring: Substitution | null },
): AnswerGuard {
  const { tenantId, id } = run.identity;
  const room = answers.open(tenantId);
  return new AnswerGuard({
    substitution: restoring,
    ...{ guardrails, dialect, tenantId, choices: request.choices, keepsText: remember !== null },
    ...{ usage: () => run.usage, wantsUsage: request.wantsUsage },
    hold: (bytes) => room.hold(bytes) && bytes <= maxHeldBytes,
    onOver: () => ending.abort(new AnswerBlocked()),
    onFailed: (err) => log.error({ err, run_id: id, tenant_id: tenantId }, 'failed to check an answer'),
  });
}

/** Checks the prompt, the parameters and the tools of an agent. Throws `content_blocked` for one with blocked texts. */
export async function checkAdditions(turn: TurnContext, guardrails: RunGuardrails): Promise<void> {
  guardrails.admit();
  const { target, tools, actor, dialect } = turn;
  const { systemPrompt } = target;
  const parameters = Buffer.from(JSON.stringify(target.defaults));
  const length = (systemPrompt?.length ?? 0) + parameters.length + (tools?.definitions.text.length ?? 0);
  const inTurn = cooperativeFor({ length }, actor.tenantId);
  if (systemPrompt !== null) {
    const passed = guardrails.textPassed(systemPrompt, { kind: 'system', isOlder: false });
    turn.target = {
      ...target,
      systemPrompt: await runSteps(passed, inTurn),
    };
  }
  // Parameters have the names of chat completions in each API.
  const checked = await runSteps(
    guardrails.requestPassed(parameters, dialects.chat.texts.request, { param: 'model' }),
    inTurn,
  );
  if (checked !== parameters) {
    const defaults = JSON.parse(checked.toString()) as Record<string, unknown>;
    turn.target = { ...turn.target, defaults };
  }
  if (tools !== null) {
    const { text } = tools.definitions;
    const passed = guardrails.definitionsPassed(text, dialect.texts.request);
    const definitions = await runSteps(passed, inTurn);
    turn.tools = {
      ...tools,
      definitions: definitions === text ? tools.definitions : definedBy(definitions),
      call: guardedCall(tools.call, guardrails, { inTurn, tenantId: actor.tenantId }),
    };
  }
  guardrails.assertPassed();
}

/**
 * A blocked call, or a blocked result, is answered with a sentence for the model. All calls of the turn share `inTurn`: many
 * at once do not hold the event loop.
 */
function guardedCall(
  call: TurnTools['call'],
  guardrails: RunGuardrails,
  { inTurn, tenantId }: { inTurn: InTurn; tenantId: string },
): TurnTools['call'] {
  return async (tool, argumentsJson, signal) => {
    const restored = await runSteps(guardrails.argumentsRestored(argumentsJson), inTurn);
    const passed = await runSteps(guardrails.argumentsPassed(restored), inTurn);
    const askedCall = 'blocked' in passed ? passed : await askedArguments(guardrails, passed, tenantId);
    if ('blocked' in askedCall)
      return { content: askedCall.blocked, outcome: 'content_blocked', argumentsJson: '{}' };
    const { content, outcome } = await call(tool, askedCall.argumentsJson, signal);
    const checked = await runSteps(guardrails.resultPassed(content), inTurn);
    const passedResult = await askedResult(guardrails, checked, tenantId);
    if (restored === argumentsJson)
      return { content: passedResult, outcome, argumentsJson: askedCall.argumentsJson };
    // Stored arguments have placeholders.
    const storedCall = await runSteps(guardrails.argumentsPassed(argumentsJson, { isRepeat: true }), inTurn);
    return {
      content: passedResult,
      outcome,
      argumentsJson: 'blocked' in storedCall ? '{}' : storedCall.argumentsJson,
    };
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
