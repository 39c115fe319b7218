import type { TestedGuardrails, TestGuardrails } from '@gatehouse/contract/guardrail-tests';
import { isBuiltIn } from '@gatehouse/contract/guardrail-checks';
import { defaultBehaviour, refusalOf } from '@gatehouse/contract/guardrail-rules';
import { changed } from '@gatehouse/dialects/text-view/text-source';
import type { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { monotonicMs } from '@gatehouse/kit/clock';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { usdOf } from '@gatehouse/kit/money';
import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { askWithin, OutsideFailure, type OutsideReason } from '../guardrails/outside/outside-check.ts';
import type { OutsideGuardrail, OutsideRun, OutsideText } from '../guardrails/outside/outside-guardrails.ts';
import { judgementOf, nothingFound, type Judgement } from '../guardrails/outside/outside-verdict.ts';
import { kindChecks, type CheckedGuardrail } from '../guardrails/text-checks.ts';
import { verdictOf } from '../guardrails/text-verdict.ts';
import type { Guardrail } from '../policies/guardrail.ts';
import { maxTestedMatches } from '../bounds.ts';

export type TestedCheck = CheckedGuardrail | OutsideGuardrail;
type Draft = Exclude<TestGuardrails['guardrails'][number], string>;
type Result = TestedGuardrails['guardrails'][number];

/** A text of a test. */
export interface TestedText extends OutsideText {
  /** Null for the one text of a test without a request. */
  param: string | null;
}

/** The check of an unsaved guardrail. Throws a 400 naming its member. */
export async function draftCheck(
  {
    guardrails,
    compiler,
  }: { guardrails: Guardrails; compiler: Pick<GuardrailCompiler, 'compile' | 'problemOf'> },
  draft: Draft,
  { tenantId, param }: { tenantId: string; param: string },
): Promise<TestedCheck> {
  const { name, action, check, except, message, unreadable, timeout_ms: timeoutMs } = draft;
  const { on, on_error: onError, hold } = { ...defaultBehaviour(draft), ...definedOf(draft) };
  const refusal = refusalOf({ check, action, on, on_error: onError, hold });
  if (refusal !== null)
    throw new AppError('invalid_value', `Invalid value for ${refusal.param}: ${refusal.reason}.`, {
      param: `${param}.${refusal.param}`,
    });
  const id = newId();
  const guardrail: Guardrail = {
    ...{ id, version: 1, name, isOwner: false, secrets: null, onError, timeoutMs },
    ...{ on: [...on], action, except, message, unreadable, hold },
    // Only its type is read of it: the check has the credentials.
    check: 'url' in check ? { ...check, auth: { type: 'none' } } : check,
  };
  if (!isBuiltIn(check)) return guardrails.outsideOf(guardrail, check);
  const stored = { id, version: '1', check, except, hold };
  const problem = await compiler.problemOf(tenantId, stored);
  if (problem !== null)
    throw new AppError(problem.code, problem.message, { param: `${param}.${problem.param}` });
  return { guardrail, check: await compiler.compile(tenantId, stored) };
}

/** The members in place of defaults. */
function definedOf({ on, on_error, hold }: Draft): Partial<ReturnType<typeof defaultBehaviour>> {
  return {
    ...(on !== undefined && { on }),
    ...(on_error !== undefined && { on_error }),
    ...(hold !== undefined && hold !== null && { hold }),
  };
}

/** Tries a guardrail on texts. Once the time of the test is over, it is late. */
export async function testedBy(
  tested: TestedCheck,
  texts: readonly TestedText[],
  asking: OutsideRun,
): Promise<Result> {
  const { guardrail } = tested;
  const checked = texts.filter(({ kind, value }) => guardrail.on.includes(kind) && value !== '');
  const startedAt = monotonicMs();
  let costPico = 0n;
  let reason: OutsideReason | null = null;
  let judgements: readonly Judgement[] = [];
  try {
    judgements = await judged(tested, checked, { ...asking, charged: (pico) => (costPico += pico) });
  } catch (error) {
    reason = asking.signal.aborted ? 'late' : error instanceof OutsideFailure ? error.reason : 'failed';
  }
  const matches = checked.flatMap(({ kind: on, param }, index) =>
    (judgements[index] ?? nothingFound).matches.map(({ type, from: start, until: end }) => ({
      ...{ type, on, param, start, end },
    })),
  );
  const isBlocked = judgements.some(({ blockedBy }) => blockedBy !== null);
  return {
    name: guardrail.name,
    outcome: outcomeOf(guardrail, { reason, isBlocked, isMatched: matches.length > 0 }),
    reason,
    matches: matches.slice(0, maxTestedMatches),
    text:
      isBlocked || (reason !== null && guardrail.onError === 'closed') ? null : textAfter(texts, judgements),
    duration_ms: Math.round(monotonicMs() - startedAt),
    cost_usd: usdOf(costPico),
  };
}

async function judged(
  tested: TestedCheck,
  texts: readonly TestedText[],
  { run, models, signal, charged }: OutsideRun & { charged: (costPico: bigint) => void },
): Promise<readonly Judgement[]> {
  if (texts.length === 0) return [];
  const { guardrail } = tested;
  if ('exceptions' in tested) {
    const question = {
      ...{ run, signal, models: models.callsOf(guardrail, charged) },
      texts: texts.map(({ kind, value: text }) => ({ kind, text })),
    };
    const { verdicts } = await askWithin(tested.check, question, guardrail.timeoutMs);
    return texts.map((text, index) => {
      const verdict = verdicts[index];
      if (verdict === undefined) throw new OutsideFailure('malformed');
      return judgementOf(tested, text, verdict);
    });
  }
  const { all: checks } = kindChecks([tested]);
  const judgements: Judgement[] = [];
  for (const text of texts) {
    const inTurn = cooperativeFor(text.value, run.tenantId);
    const { matches, failures } = await runSteps(checks.findingsIn(text.value), inTurn);
    for (const { cause } of failures) throw cause;
    judgements.push({ ...verdictOf(text, matches), matches });
  }
  return judgements;
}

const outcomes = {
  flag: 'flagged',
  mask: 'masked',
  substitute: 'substituted',
  block: 'blocked',
} as const satisfies Record<Guardrail['action'], GuardrailOutcome>;

function outcomeOf(
  { action }: Guardrail,
  { reason, isBlocked, isMatched }: { reason: string | null; isBlocked: boolean; isMatched: boolean },
): GuardrailOutcome {
  if (reason !== null) return 'error';
  if (isBlocked) return 'blocked';
  return isMatched ? outcomes[action] : 'passed';
}

function textAfter(texts: readonly TestedText[], judgements: readonly Judgement[]): string | null {
  const [only] = texts;
  if (only === undefined || only.param !== null) return null;
  return changed(only.value, judgements[0]?.changes ?? []);
}
