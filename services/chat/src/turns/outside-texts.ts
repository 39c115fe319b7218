import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { AppError } from '@gatehouse/kit/errors';
import { dialects } from '@gatehouse/dialects/dialects';
import { sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { askAbout, documentTexts, plainText, type AskedTexts } from '../guardrails/outside/asked-texts.ts';
import { GuardrailModels } from '../guardrails/outside/guardrail-models.ts';
import type { OutsideGuardrails } from '../guardrails/outside/outside-guardrails.ts';
import { argumentRules, resultRules } from '../guardrails/call-texts.ts';
import { agentParam, blockedCall, blockedResult, type RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Limiter } from '../limits/limiter.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import { withRelease } from '../providers/request-source.ts';
import { admitGuardrailCall } from './admit-guardrail-call.ts';
import type { StartedTurn, TurnInput } from './turn-stage.ts';

export interface OutsideDependencies {
  catalogue: Pick<Catalogue, 'find'>;
  providers: ProviderRegistry;
  answers: AnswerBudget;
  limiter: Limiter;
  pricing: Pricing;
}

/**
 * Asks the checks outside about everything read by the model of a turn: the request of the client, and the prompt,
 * the parameters, the tools and the passages of the agent. Throws `content_blocked` and `guardrail_unavailable`.
 */
export function checkOutside(
  dependencies: OutsideDependencies,
  turn: StartedTurn,
  input: TurnInput,
): Promise<void> | undefined {
  const { guardrails } = turn;
  if (guardrails === null || guardrails.outside === null) return undefined;
  guardrails.outside.begin(askingOf(dependencies, turn));
  return ask(guardrails, guardrails.outside, { turn, input });
}

async function ask(
  guardrails: RunGuardrails,
  outside: OutsideGuardrails,
  { turn, input }: { turn: StartedTurn; input: TurnInput },
): Promise<void> {
  const { run, settings } = turn;
  const parts = await partsOf(outside, turn, input);
  // Each check has the texts once more while it is asked.
  const chars = parts.flatMap(({ texts }) => texts).reduce((sum, { value }) => sum + value.length, 0);
  input.share.grow(chars);
  const blocked = await askAbout(outside, parts).catch((error: unknown) => {
    const { signal, target } = turn;
    throw signal.aborted ? ProviderFailure.aborted(target.chain[0].provider.name, signal) : error;
  });
  if (blocked !== null) guardrails.refuse(blocked.blockedBy, blocked.param);
  guardrails.assertPassed();
  if (settings.previewChars > 0) run.showInput(input.facts.inputPreview(settings.previewChars));
}

function askingOf(
  dependencies: OutsideDependencies,
  turn: StartedTurn,
): Parameters<OutsideGuardrails['begin']>[0] {
  const { actor, run, settings, signal } = turn;
  const { tenantId, userId } = actor;
  const { id: runId, traceId, sessionId, requestModel: model, apiKeyId: apiKeyName } = run.identity;
  const { catalogue, providers, answers } = dependencies;
  const models = new GuardrailModels({
    ...{ catalogue, providers, answers, run, tenantId, userId },
    ...{ allowedModels: settings.allowedModels, ownKeys: settings.ownKeys },
    admit: (call) => admitGuardrailCall(dependencies, turn, call),
  });
  const group = actor.groups[0]?.name ?? null;
  return { models, signal, run: { tenantId, runId, traceId, sessionId, model, userId, group, apiKeyName } };
}

async function partsOf(
  outside: OutsideGuardrails,
  turn: StartedTurn,
  input: TurnInput,
): Promise<AskedTexts[]> {
  const { target, actor, dialect, tools } = turn;
  const { tenantId } = actor;
  const rules = dialect.texts.request;
  const body = input.text ?? input.sent;
  const isOlder = turn.guardrails?.isOlder === true;
  const request = await documentTexts(body, { rules, tenantId, isOlder }, (changed) =>
    reread(turn, input, changed),
  );
  const parts = [withSent(request, turn, input)];
  const { systemPrompt, reference, defaults } = target;
  if (systemPrompt !== null && outside.checks('system'))
    parts.push(
      plainText({ kind: 'system', value: systemPrompt, isOlder: false }, agentParam, (text) => {
        turn.target = { ...turn.target, systemPrompt: text };
      }),
    );
  if (Object.keys(defaults).length > 0) {
    // Parameters have the names of chat completions in each API.
    const place = { rules: dialects.chat.texts.request, tenantId, param: agentParam };
    parts.push(
      await documentTexts(Buffer.from(JSON.stringify(defaults)), place, (changed) => {
        turn.target = { ...turn.target, defaults: JSON.parse(changed.toString()) as typeof defaults };
      }),
    );
  }
  if (reference !== null && outside.checks('user'))
    parts.push(
      plainText({ kind: 'user', value: reference.content, isOlder: true }, agentParam, (content) => {
        turn.target = { ...turn.target, reference: { ...reference, content } };
        // Their changes are in the reference alone.
        turn.passages = [];
      }),
    );
  if (tools !== null && outside.checks('system')) {
    const [begin, end] = [Buffer.from('{"tools":['), Buffer.from(']}')];
    const definitions = Buffer.concat([begin, tools.definitions.text, end]);
    const place = { rules, tenantId, param: agentParam };
    parts.push(
      await documentTexts(definitions, place, (changed) => {
        const text = changed.subarray(begin.length, -end.length);
        turn.tools = { ...tools, definitions: { text, sample: sampleOf(text.toString()) } };
      }),
    );
  }
  return parts;
}

/** Takes over the changed text of the request. */
async function reread(turn: StartedTurn, input: TurnInput, text: Buffer): Promise<void> {
  const { source: before } = turn;
  input.share.grow(text.length);
  const { facts, source } = await input.reread(text);
  const { viewWith, keptView } = facts;
  input.facts = facts;
  if (input.sent === (input.text ?? input.sent)) input.sent = text;
  if (input.text !== null) input.text = text;
  turn.request = { ...turn.request, viewWith, keptView };
  turn.source = withRelease(source, () => {
    source.release();
    before.release();
  });
}

/** With the body as its client sent it, if its content is stored. Its texts are in the whole request too. */
function withSent(request: AskedTexts, turn: StartedTurn, input: TurnInput): AskedTexts {
  const { sent, text } = input;
  if (text === null || text === sent || !turn.settings.storesContent) return request;
  const { dialect, actor } = turn;
  const place = { rules: dialect.texts.request, tenantId: actor.tenantId };
  return {
    ...request,
    async change(verdicts) {
      await request.change(verdicts);
      const byValue = new Map(request.texts.map(({ value }, index) => [value, verdicts[index]]));
      const sentTexts = await documentTexts(sent, place, (changed) => {
        input.sent = changed;
      });
      await sentTexts.change(
        sentTexts.texts.map(({ value }) => byValue.get(value) ?? { blockedBy: null, changes: [] }),
      );
    },
  };
}

/** Without a verdict, a call is answered with a sentence like a blocked one: the model has begun to answer. */
export async function askedArguments(
  { outside }: RunGuardrails,
  { argumentsJson }: { argumentsJson: string },
  tenantId: string,
): Promise<{ argumentsJson: string } | { blocked: string }> {
  if (outside?.checks('tool_call') !== true) return { argumentsJson };
  const begin = '{"arguments":';
  let passed = argumentsJson;
  const body = Buffer.from(`${begin}${argumentsJson}}`);
  const part = await documentTexts(body, { rules: argumentRules, tenantId }, (changed) => {
    passed = changed.subarray(begin.length, -1).toString();
  });
  try {
    const blocked = await askAbout(outside, [part]);
    return blocked === null ? { argumentsJson: passed } : { blocked: blockedCall(blocked.blockedBy) };
  } catch (error) {
    return { blocked: `Not called: ${unavailableText(error)}` };
  }
}

/** Read decoded, as the gateway's own checks read it. */
export async function askedResult(
  { outside }: RunGuardrails,
  content: string,
  tenantId: string,
): Promise<string> {
  if (outside?.checks('tool_result') !== true) return content;
  let passed = content;
  const body = Buffer.from(JSON.stringify({ result: content }));
  const part = await documentTexts(body, { rules: resultRules, tenantId }, (changed) => {
    passed = (JSON.parse(changed.toString()) as { result: string }).result;
  });
  try {
    const blocked = await askAbout(outside, [part]);
    return blocked === null ? passed : blockedResult(blocked.blockedBy);
  } catch (error) {
    return `The result is withheld: ${unavailableText(error)}`;
  }
}

function unavailableText(error: unknown): string {
  if (error instanceof AppError && error.code === 'guardrail_unavailable') return error.message;
  throw error;
}
