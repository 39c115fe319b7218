import type { TestGuardrails } from '@gatehouse/contract/guardrail-tests';
import { dialects } from '@gatehouse/dialects/dialects';
import { TextView } from '@gatehouse/dialects/text-view/text-view';
import type { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { monotonicMs } from '@gatehouse/kit/clock';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { newId } from '@gatehouse/kit/ids';
import { bounded } from '../guardrails/view-bounds.ts';
import { GuardrailModels } from '../guardrails/outside/guardrail-models.ts';
import type { OutsideRun } from '../guardrails/outside/outside-guardrails.ts';
import type { Admission } from '../limits/admission.ts';
import { ActiveRun } from '../recording/active-run.ts';
import { groupsOfUser } from '../shared/acting-user.ts';
import { requestActor, type Actor } from '../shared/actor.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import { admitGuardrailCall } from '../turns/admit-guardrail-call.ts';
import type { CompletionDependencies } from './completion-handlers.ts';
import { draftCheck, testedBy, type TestedCheck, type TestedText } from './tested-guardrail.ts';
import { guardrailTestMs, testedViewBytes } from '../bounds.ts';

export interface GuardrailTestDependencies extends CompletionDependencies {
  compiler: Pick<GuardrailCompiler, 'compile' | 'problemOf'>;
}

/** The texts of a test are in memory while models and servers are asked. */
const testsInFlight = {
  ...{ perKey: 2, slots: 16, maxWaiting: 0 },
  tooMany: (isKeys: boolean) =>
    new AppError(
      isKeys ? 'rate_limit_exceeded' : 'service_unavailable',
      `Too many tests of guardrails ${isKeys ? 'of this tenant ' : ''}are under way.`,
      { retryAfterMs: 1_000 },
    ),
};

/** `POST /v1/guardrails/test`: of this service, since it alone checks texts, and calls models and servers for it. */
export function guardrailTestHandlers(dependencies: GuardrailTestDependencies): Record<string, Handler> {
  const tests = new FairQueue(testsInFlight);
  return {
    'guardrails.test': (call: Call<TestGuardrails>) =>
      tests.run(tenantOf(call).tenantId, async () => ({ body: await answerTest(dependencies, call) })),
  };
}

async function answerTest(
  dependencies: GuardrailTestDependencies,
  call: Call<TestGuardrails>,
): Promise<object> {
  const principal = tenantOf(call);
  const { tenantId, keyId: apiKeyId } = principal;
  const settings = await dependencies.settings.getForKey(principal, call);
  const texts = await textsIn(call.body, tenantId);
  const checks = await checksOf(dependencies, call, settings);
  const admission = await dependencies.limiter.arrive({ tenantId, apiKeyId, settings });
  try {
    return await test(dependencies, call, { settings, admission, texts, checks });
  } finally {
    admission.release();
  }
}

/** Throws `payload_too_large` for too many texts. */
async function textsIn(
  { text, request, dialect, on }: TestGuardrails,
  tenantId: string,
): Promise<readonly TestedText[]> {
  if ((text === undefined) === (request === undefined))
    throw new AppError('invalid_value', 'Send one of text and request.', { param: 'text' });
  if (text !== undefined) return [{ kind: on, value: text, isOlder: false, isFixed: false, param: null }];
  const body = Buffer.from(JSON.stringify(request));
  const reading = TextView.read(body, dialects[dialect].texts.request, bounded(undefined, testedViewBytes));
  return (await runSteps(reading, cooperativeFor(body, tenantId))).texts;
}

/** Throws `not_found` for an unknown name, and a 400 for an invalid draft. */
async function checksOf(
  dependencies: GuardrailTestDependencies,
  { body, principal }: Call<TestGuardrails>,
  { guardrails: index }: KeySettings,
): Promise<TestedCheck[]> {
  const { tenantId } = tenantOf({ principal });
  const { guardrails } = dependencies;
  // Compilations have a deadline of their own.
  const { signal } = new AbortController();
  const checks: TestedCheck[] = [];
  for (const [at, each] of body.guardrails.entries()) {
    const param = `guardrails[${at}]`;
    if (typeof each === 'string') {
      const known = index?.named(each);
      if (known === undefined)
        throw new AppError('not_found', 'There is no such guardrail that is enabled.', { param });
      checks.push(await guardrails.checkOf(tenantId, known, signal));
    } else checks.push(await draftCheck(dependencies, each, { tenantId, param }));
  }
  return checks;
}

interface Testing {
  settings: KeySettings;
  admission: Admission;
  texts: readonly TestedText[];
  checks: readonly TestedCheck[];
}

async function test(
  dependencies: GuardrailTestDependencies,
  call: Call<TestGuardrails>,
  { settings, admission, texts, checks }: Testing,
): Promise<object> {
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  const { requestId, trace } = call;
  const groups = await groupsOfUser(dependencies.findUser, settings, { tenantId, userId, requestId, trace });
  const actor = requestActor({ ...call, principal, groups });
  const run = testRun(dependencies, actor, { admission, checks });
  const signal = AbortSignal.timeout(guardrailTestMs);
  const asking = askingOf(dependencies, { actor, settings, run, signal });
  const guardrails = [];
  try {
    for (const check of checks) guardrails.push(await testedBy(check, texts, asking));
  } finally {
    await run.finish('ok');
    run.release();
  }
  return { guardrails, run_id: run.calls > 0 ? run.identity.id : null };
}

function askingOf(
  dependencies: GuardrailTestDependencies,
  {
    actor,
    settings,
    run,
    signal,
  }: { actor: Actor; settings: KeySettings; run: ActiveRun; signal: AbortSignal },
): OutsideRun {
  const { catalogue, providers, answers } = dependencies;
  const { tenantId, userId, groups, apiKeyId: apiKeyName } = actor;
  const { id: runId, traceId, requestModel: model } = run.identity;
  const turn = {
    ...{ actor, settings, sessionId: null, sessionBudget: null },
    target: { agentId: null, ownKeys: null },
  };
  const models = new GuardrailModels({
    ...{ catalogue, providers, answers, run, tenantId, userId },
    ...{ allowedModels: settings.allowedModels, ownKeys: settings.ownKeys },
    admit: (each) => admitGuardrailCall(dependencies, turn, each),
  });
  const facts = { tenantId, runId, traceId, model, userId, apiKeyName };
  return { models, signal, run: { ...facts, sessionId: null, group: groups[0]?.name ?? null } };
}

/** The run of a test: without a call of a model, nothing of it is recorded. */
function testRun(
  { recorder, pricing, telemetry, log }: GuardrailTestDependencies,
  actor: Actor,
  { admission, checks }: Pick<Testing, 'admission' | 'checks'>,
): ActiveRun {
  const { tenantId, apiKeyId, userId, groups, requestId } = actor;
  const trace = telemetry.within(actor.trace);
  const [model = ''] = checks.flatMap(({ guardrail: { check } }) => ('model' in check ? [check.model] : []));
  return new ActiveRun({
    identity: {
      operation: 'chat',
      ...{ id: newId(), tenantId, channel: 'api', requestId, apiKeyId, userId },
      ...{ traceId: trace.traceId, spanId: trace.spanId, groups: groups.map(({ name }) => name) },
      ...{ sessionId: null, dialect: null, client: null, agentId: null, requestModel: model },
      ...{ streamed: false, ownKey: false, inputPreview: null, recall: null, charges: null },
    },
    ...{ recorder, pricing, telemetry, log, trace, admission, previewChars: 0, arrivedAt: monotonicMs() },
    prompt: () => ({ beginning: '', chars: 0 }),
    bounds: { thoughts: 0, choices: 1, outputOf: () => 0 },
    ...{ feeTools: [], signatures: null, guardrails: null, notePrompt: null },
  });
}
