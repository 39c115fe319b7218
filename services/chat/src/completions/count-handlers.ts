import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders } from '@gatehouse/http/body';
import type { BodyBudget } from '@gatehouse/kit/body-budget';
import { jsonText, sendJsonText } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { addedTexts } from '../catalogue/target.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { Admission } from '../limits/admission.ts';
import { countAtProvider } from '../providers/count-call.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { accountOf } from '../providers/signature-origins.ts';
import { checkAdditions } from '../turns/guardrail-stage.ts';
import { prepareTurn, type TurnDependencies } from '../turns/start-turn.ts';
import { estimateTokens } from '@gatehouse/dialects/usage/token-estimate';
import { headerText, passedHeaders } from './client-headers.ts';
import { countRequest, hasCounts, type Counted, type CountingDialect } from './count-requests.ts';
import { readTurn, type ReaderDependencies, type RequestBody } from './named-request-handlers.ts';

export interface CountDependencies extends ReaderDependencies, Pick<TurnDependencies, 'stages' | 'limiter'> {
  settings: TenantSettingsClient;
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
}

/** Estimates, which share a tokenizer with the ends of runs: one tenant has one of them under way. */
const estimatesInFlight = { perKey: 1, maxWaiting: 1_000 };

/** Counts of the tokens of requests, in each dialect with this operation. */
export function countHandlers(dependencies: CountDependencies): Record<string, RawHandler> {
  const estimates = new FairQueue(estimatesInFlight);
  const counting =
    (dialect: CountingDialect): RawHandler =>
    (incoming, response, call) =>
      count({ ...dependencies, estimates }, incoming, response, { ...call, dialect });
  return {
    'messages.count_tokens': counting(dialects.messages),
    'responses.input_tokens': counting(dialects.responses),
    'gemini.countTokens': counting(dialects.gemini),
    'gemini.v1.countTokens': counting(dialects.gemini),
  };
}

type CountingDependencies = CountDependencies & { estimates: FairQueue };
type CountingCall = Omit<RawCall, 'dialect'> & { dialect: CountingDialect };

/**
 * Counts a request if the same client may send it. It is no run, so limits of requests, concurrency and budgets do not
 * hold it; the key has a bound of its own.
 */
async function count(
  dependencies: CountingDependencies,
  incoming: IncomingMessage,
  response: ServerResponse,
  call: CountingCall,
): Promise<void> {
  const { tenantId, keyId: apiKeyId } = tenantOf(call);
  checkBodyHeaders(incoming, call.route);
  await dependencies.limiter.count({ tenantId, apiKeyId });
  const counted = await readCounted(dependencies, incoming, response, call);
  const { dialect, target, source, signatures, guardrails } = counted;
  // A text with changes by guardrails goes to no provider for a count.
  const isAsked = guardrails?.isChanging !== true && hasCounts(counted, target.chain[0]);
  const models = isAsked ? target.chain : [];
  const room = dependencies.answers.open(tenantId);
  try {
    const known = await countAtProvider(dependencies.providers, {
      models: models.filter((model) => hasCounts(counted, model)),
      tenantId,
      affinity: target.affinity,
      ownKeys: target.ownKeys,
      requestFor: (model, rotation) =>
        countRequest(counted, model, {
          tenantId,
          headers: passedHeaders(incoming, dialect),
          ...dependencies.providers.signaturesFor(model, rotation, {
            api: dialect.name,
            signatures,
            target,
            tenantId,
          }),
          account: accountOf(model, rotation?.key?.id ?? null),
        }),
      trace: call.trace,
      signal: leaving(response),
      room,
    });
    const { bytes, headers } =
      known === null
        ? await dependencies.estimates.run(tenantId, () => estimate(counted, tenantId))
        : { bytes: known.bytes, headers: { 'x-gateway-provider': known.model.provider.name } };
    sendJsonText(response, 200, bytes, {
      [requestIdHeader]: call.requestId,
      'x-gateway-model': headerText((known?.model ?? target.chain[0]).id),
      ...headers,
    });
  } catch (error) {
    throw error instanceof ProviderFailure ? error.toAppError() : error;
  } finally {
    source.release();
    room.close();
  }
}

/** Reads and checks the body, and finds what an agent adds to it: its prompt and tools, not what it remembers. */
async function readCounted(
  dependencies: CountingDependencies,
  incoming: IncomingMessage,
  response: ServerResponse,
  call: CountingCall,
): Promise<Counted> {
  const { dialect } = call;
  const { tenantId } = tenantOf(call);
  const { turn, input } = await readTurn(
    dependencies,
    { incoming, response, call, admission: new Admission(), arrivedAt: monotonicMs() },
    {
      parse: parserOf(call),
      isAnswered: false,
      settings: () => dependencies.settings.getForKey(tenantOf(call), call),
    },
  );
  turn.guardrails?.admit();
  await prepareTurn(dependencies.stages, turn, input);
  if (turn.guardrails !== null) await checkAdditions(turn, turn.guardrails);
  const { source, target, tools, signatures } = turn;
  return {
    ...{ dialect, request: input.facts, source, target, tools, signatures, guardrails: turn.guardrails },
    macs: dependencies.providers.signatureMacs(tenantId),
  };
}

/** Some APIs have the model in the path. */
function parserOf({ dialect, params }: CountingCall): RequestBody['parse'] {
  const inPath = { model: params['id'] ?? '', stream: false };
  const { counts } = dialect;
  return (text, parsed) =>
    counts.readRequest?.(text, parsed, inPath) ?? dialect.readRequest('chat', text, parsed, inPath);
}

async function estimate(
  { dialect, request, source, target, tools }: Counted,
  tenantId: string,
): Promise<{ bytes: Buffer; headers: Record<string, string> }> {
  const prompt = request.promptSample([
    ...addedTexts(target),
    ...(tools === null ? [] : [tools.definitions.sample]),
  ]);
  const { attachments } = request.requestedAmounts({});
  source.release();
  // A picture or a file counts as 1,600 tokens: the most for a picture in Anthropic's documentation.
  const tokens = (await estimateTokens(prompt, tenantId)) + attachments.count * 1_600;
  return {
    bytes: jsonText(dialect.counts.answerWith(tokens)),
    headers: { 'x-gateway-estimated': 'true' },
  };
}
