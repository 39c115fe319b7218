import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders, parseBody, readBody, readPart } from '@gatehouse/http/body';
import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { jsonText, sendJsonText } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { addedTexts } from '../catalogue/target.ts';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import type { KeptResponses } from '../kept-responses/kept-response-store.ts';
import type { Limiter } from '../limits/limiter.ts';
import { countAtProvider } from '../providers/count-call.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import { requestActor, type ProvenActor } from '../shared/actor.ts';
import { keptDays, type KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { accountOf } from '../providers/origins.ts';
import { withTools, type ToolDependencies } from '../tools/tools.ts';
import { withSignatures, type SignatureDependencies } from '../turns/turn-signatures.ts';
import { findNamedTarget, type TargetDependencies } from '../turns/find-target.ts';
import { estimateTokens } from '@gatehouse/dialects/usage/token-estimate';
import { headerText, passedHeaders, sessionOf } from './client-headers.ts';
import { continuedTarget, continuedText } from './continued-request-http.ts';
import { RequestFacts } from './request-facts.ts';
import type { LargeWork } from '../shared/large-work.ts';
import { readInTurn, RequestLookups } from './request-lookups-http.ts';
import { countRequest, hasCounts, type Counted, type CountingDialect } from './count-requests.ts';

export interface CountDependencies extends TargetDependencies, ToolDependencies, SignatureDependencies {
  settings: TenantSettingsClient;
  responses: KeptResponses;
  limiter: Limiter;
  providers: ProviderRegistry;
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
}

/** Estimates, which share a tokenizer with the ends of runs: one tenant has one of them under way. */
const estimatesInFlight = { perKey: 1, maxWaiting: 1_000 };

/** Counts of the tokens of requests, in each dialect that has them. */
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
 * Counts a request that the same client may send. It is no run, so limits of requests, concurrency and budgets do not
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
  const { dialect, target, source, signatures } = counted;
  const models = hasCounts(counted, target.chain[0]) ? target.chain : [];
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
        ? await dependencies.estimates.run(tenantId, () => estimate(counted))
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
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  const share = openShare(dependencies.bodyBudget, tenantId, response);
  const body = withoutMark(await readBody(incoming, call.route.bodyLimit, { share }));
  const sessionId = sessionOf(incoming);
  const large = { tenantId, bytes: body.length, signal: leaving(response) };
  const actor = requestActor({ ...call, principal });
  const settings = await dependencies.settings.getForKey(principal, call);
  const days = keptDays(settings);
  const lookups = new RequestLookups(dependencies, { actor, reader: { tenantId, userId, days } });
  const { text, ...read } = await readInTurn(large, lookups, (work) =>
    readNamed(dependencies, call, { body, share, work, sessionId, actor, settings, days, lookups }),
  );
  const tools = await withTools(dependencies, { dialect, actor, ...read });
  const signatures = await withSignatures(dependencies, {
    dialect,
    text,
    target: read.target,
    tenantId,
    settings,
  });
  return { dialect, ...read, tools, signatures, macs: dependencies.providers.signatureMacs(tenantId) };
}

interface Naming {
  body: Buffer;
  share: TenantShare;
  work: LargeWork;
  sessionId: string | null;
  actor: ProvenActor;
  settings: KeySettings;
  days: number;
  lookups: RequestLookups;
}

/** The request with everything that it names, and its models. */
async function readNamed(
  dependencies: CountingDependencies,
  { dialect, ...call }: CountingCall,
  { sessionId, actor, settings, ...given }: Naming,
) {
  const { body, share, work, lookups } = given;
  const principal = tenantOf(call);
  const { tenantId } = principal;
  const read = await readRequest(body, tenantId, { ...call, dialect });
  const unread = lookups.unread(read, work);
  if (unread !== null) return unread;
  const { state: format } = dialect;
  const { state } = read;
  const target = await continuedTarget(
    lookups,
    await findNamedTarget(
      { ...dependencies, agents: lookups.agents },
      { ...{ request: read, actor, settings }, sessionId: sessionId ?? read.session },
    ),
    state?.previousId ?? null,
  );
  const { text } =
    format === undefined || state === undefined
      ? { text: body }
      : await continuedText(dependencies.responses, {
          ...{ ...given, principal, state, format },
          provider: target.chain[0].provider.name,
        });
  const request = text === body ? read : await readRequest(text, tenantId, { ...call, dialect });
  return readPart(text, tenantId, () => ({
    ...{ text, target },
    source: request.source(share),
    request: new RequestFacts(request, { target: { ...target, memory: null }, previewChars: 0 }),
  }));
}

async function readRequest(
  text: Buffer,
  tenantId: string,
  { dialect, params }: Pick<CountingCall, 'dialect' | 'params'>,
): Promise<CompletionRequest> {
  const parsed = await parseBody(text, tenantId);
  // Some APIs have the model in the path.
  const inPath = { model: params['id'] ?? '', stream: false };
  const { counts } = dialect;
  return readPart(
    text,
    tenantId,
    () => counts.readRequest?.(text, parsed, inPath) ?? dialect.readRequest('chat', text, parsed, inPath),
  );
}

/** Tokens of a picture or a file in an estimate: the most that Anthropic's documentation has for a picture. */
const attachmentTokens = 1_600;

async function estimate({
  dialect,
  request,
  source,
  target,
  tools,
}: Counted): Promise<{ bytes: Buffer; headers: Record<string, string> }> {
  const prompt = request.promptSample([
    ...addedTexts(target),
    ...(tools === null ? [] : [tools.definitions.sample]),
  ]);
  const { attachments } = request.requestedAmounts({});
  source.release();
  const tokens = (await estimateTokens(prompt)) + attachments.count * attachmentTokens;
  return {
    bytes: jsonText(dialect.counts.answerWith(tokens)),
    headers: { 'x-gateway-estimated': 'true' },
  };
}
