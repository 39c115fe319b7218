import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type RawCall } from '@gatehouse/http/app';
import { clientLeft, parseBody, parseJson, readBody, readPart } from '@gatehouse/http/body';
import { openShare } from '@gatehouse/http/body-share';
import { wasCutByStop } from '@gatehouse/http/server';
import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import type { RequestState, StateFormat } from '@gatehouse/dialects/state-format';
import { largeBytes, smallBytes } from '@gatehouse/kit/json-bytes';
import { agentRef, startingAt, type ResolvedAgent, type Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { CompletionRequest, Dialect, RequestSource } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import {
  bytesRead,
  type Chain,
  type Holders,
  type StoredResponses,
} from '../stored-responses/stored-response-store.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Admission } from '../limits/admission.ts';
import { Interruption } from '../providers/provider-failure.ts';
import { groupsOfUser, noGroups, type FindUser } from '../shared/acting-user.ts';
import { requestActor, type ProvenActor } from '../shared/actor.ts';
import { clientNamed } from '@gatehouse/kit/client-name';
import { LargeWork } from '../shared/large-work.ts';
import { storedDays, type KeySettings } from '../shared/tenant-settings.ts';
import {
  findTarget,
  type AgentResolver,
  type TargetDependencies,
  type TargetQuery,
} from '../turns/find-target.ts';
import { turnContext, type StoredState, type TurnContext, type TurnInput } from '../turns/turn-stage.ts';
import {
  assertInSession,
  passedHeaders,
  sessionBudgetOf,
  sessionOf,
  wantsToolEvents,
} from './client-headers.ts';
import { limitsTokens } from '../limits/counted-prompts.ts';
import { guardedRequest } from './guarded-request.ts';
import { requestFacts } from './request-facts.ts';
import type { PromptParts } from '@gatehouse/dialects/prompt-parts';
import type { TextSample } from '@gatehouse/dialects/usage/token-estimate';
import type { Share } from '@gatehouse/dialects/wire/request-text';
import { maxIdChars, maxReferences, rereadBytes } from '../bounds.ts';
import {
  continuedText,
  idsBut,
  leftOutNames,
  newestThoughts,
  unknownIds,
} from './continued-text-handlers.ts';

export interface ReaderDependencies extends TargetDependencies {
  agents: AgentResolver;
  responses: StoredResponses;
  findUser: FindUser;
  guardrails: Guardrails;
}

/** A client's request with its body still to be read. */
export interface IncomingRequest {
  incoming: IncomingMessage;
  response: ServerResponse;
  call: Omit<RawCall, 'dialect'> & { dialect: Dialect & { name: ApiName } };
  admission: Admission;
  /** By the monotonic clock. */
  arrivedAt: number;
}

/** Reads the body of a request, and everything it names. Throws as `readNamed` does. */
export async function readTurn(
  dependencies: ReaderDependencies & { bodyBudget: BodyBudget },
  { incoming, response, call, admission, arrivedAt }: IncomingRequest,
  reading: Pick<RequestBody, 'parse' | 'isAnswered'> & { settings: () => KeySettings | Promise<KeySettings> },
): Promise<{ turn: TurnContext; input: TurnInput }> {
  const principal = tenantOf(call);
  const { dialect } = call;
  const { parse, isAnswered } = reading;
  const sessionId = sessionOf(incoming);
  const sessionBudget = isAnswered ? sessionBudgetOf(incoming) : null;
  const share = openShare(dependencies.bodyBudget, principal.tenantId, response);
  const body = withoutMark(await readBody(incoming, call.route.bodyLimit, { share }));
  const current = reading.settings();
  const settings = current instanceof Promise ? await current : current;
  const { tenantId, userId } = principal;
  const { requestId, trace } = call;
  // Guardrails of groups also hold for counts.
  const known =
    isAnswered || settings.guardrails !== null
      ? groupsOfUser(dependencies.findUser, settings, { tenantId, userId, requestId, trace })
      : noGroups;
  const groups = known instanceof Promise ? await known : known;
  const actor = requestActor({ ...call, principal, groups });
  const isCut = (): boolean => wasCutByStop(response);
  const ending = new AbortController();
  const signal = leaving(response, () => (isCut() ? new Interruption() : clientLeft()), isCut, ending);
  const input = { dialect, body, share, parse, actor, settings, sessionId, isAnswered, signal };
  const named = readNamed(dependencies, input);
  const request = named instanceof Promise ? await named : named;
  assertInSession(sessionBudget, request.sessionId);
  const { facts, parts, text, sent, guardrails, reread } = request;
  const turn = turnContext(
    {
      source: request.source,
      target: request.target,
      sessionId: request.sessionId,
      sessionBudget,
      stored: request.stored,
      guardrails,
      channel: 'api',
      client: { dialect: dialect.name, name: clientNamed(incoming.headers['user-agent']) },
      headers: passedHeaders(incoming, dialect),
      dialect,
      actor,
      member: actor,
      settings,
      arrivedAt,
      admission,
      ending,
      signal,
      showsTools: isAnswered && wantsToolEvents(incoming),
    },
    facts,
  );
  return { turn, input: { facts, parts, text, sent, share, reread } };
}

/** A client's request as its body arrived. */
export interface RequestBody {
  dialect: Dialect & { name: ApiName };
  body: Buffer;
  /** Is charged for the outgoing text. */
  share: Share & Pick<TenantShare, 'grow' | 'part'>;
  /** Reads a text with its parsed JSON. Throws 400s with the name of the field. */
  parse: (text: Buffer, parsed: unknown) => CompletionRequest;
  actor: ProvenActor;
  settings: KeySettings;
  /** The session named in a header. */
  sessionId: string | null;
  /** Whether it gets an answer, which may be stored; otherwise its tokens are counted. */
  isAnswered: boolean;
  /** Aborts when the request is no longer wanted. */
  signal: AbortSignal;
}

/** A request with everything it names. */
interface NamedRequest {
  facts: AcceptedRequest;
  parts: PromptParts | null;
  source: RequestSource;
  target: Target;
  /** Its text with everything it continues. */
  text: Buffer;
  /** The body of the client with the changes of guardrails. */
  sent: Buffer;
  guardrails: RunGuardrails | null;
  sessionId: string | null;
  /** Null where the dialect stores no answers. */
  stored: StoredState | null;
  reread: TurnInput['reread'];
}

/** Names in a request with a meaning known to another service or the database. */
interface Names {
  agent: string | null;
  previousId: string | null;
  itemIds: readonly string[];
}

/**
 * Reads a request with everything it names, in the turn of large ones: the values of a large body are in memory while
 * it is read, and no longer. Names are looked up outside of this turn, and a large body is read again afterwards, so no
 * other request waits for another service or for the database of its tenant.
 */
export function readNamed(
  dependencies: ReaderDependencies,
  input: RequestBody,
): NamedRequest | Promise<NamedRequest> {
  const { body, parse } = input;
  if (body.length > smallBytes) return readAround(dependencies, input, null);
  const request = parse(body, parseJson(body));
  return namesIn(request) === null
    ? complete(dependencies, input, { request, known: nothing })
    : readAround(dependencies, input, request);
}

/** Reads a request around the look-up of its names. `small`: the request, if its body is small. */
async function readAround(
  dependencies: ReaderDependencies,
  input: RequestBody,
  small: CompletionRequest | null,
): Promise<NamedRequest> {
  const { dialect, body, actor, settings, sessionId, signal } = input;
  const { tenantId } = actor;
  const large = { tenantId, bytes: body.length, signal };
  const isLarge = body.length > largeBytes;
  const read = async () => {
    const request = small ?? (await parsed(input, body));
    const names = namesIn(request);
    if (names === null) return await complete(dependencies, input, { request, known: nothing });
    // An unknown model is refused before any look-up.
    if (names.agent === null)
      findTarget(dependencies, { api: dialect.name, request, agent: null, actor, settings, sessionId });
    return { names, request: isLarge ? null : request };
  };
  const first = await (isLarge ? LargeWork.during(large, read) : read());
  if (!('names' in first)) return first;
  const known = await lookUp(dependencies, input, first.names);
  const bytes = body.length + bytesRead(known);
  return LargeWork.during({ ...large, bytes }, async () =>
    complete(dependencies, input, { request: first.request ?? (await parsed(input, body)), known }),
  );
}

/** The meanings of names: stored responses without their contents. */
interface Known {
  agent: ResolvedAgent | null;
  /** Names most like that of an agent that the caller can't see. */
  nearestAgents: readonly string[];
  /** The continued response, and those before it. */
  chain: Chain;
  /** The responses with its items. */
  holders: Holders;
}

const nothing: Known = { agent: null, nearestAgents: [], chain: [], holders: new Map() };

async function lookUp(
  { agents, responses }: ReaderDependencies,
  { actor, settings }: RequestBody,
  { agent, previousId, itemIds }: Names,
): Promise<Known> {
  const { tenantId, userId } = actor;
  const reader = { tenantId, userId, days: storedDays(settings) };
  const [resolved, chain, holders] = await Promise.all([
    agent === null ? nothing.agent : agents.resolve(actor, agent),
    previousId === null ? nothing.chain : responses.chain(previousId, reader),
    itemIds.length === 0 ? nothing.holders : responses.holders(itemIds, reader),
  ]);
  const isMissing = agent !== null && resolved === null;
  const nearestAgents = isMissing ? await agents.nearest(actor, agent) : nothing.nearestAgents;
  return { agent: resolved, nearestAgents, chain, holders };
}

/** The request with what its names mean, and its models. */
function complete(
  dependencies: ReaderDependencies,
  input: RequestBody,
  { request, known }: { request: CompletionRequest; known: Known },
): NamedRequest | Promise<NamedRequest> {
  const { body, dialect, actor, settings } = input;
  const sessionId = input.sessionId ?? request.session;
  const { agent, nearestAgents } = known;
  const query = { api: dialect.name, request, agent, nearestAgents, actor, settings, sessionId };
  const target = findTarget(dependencies, query);
  return dialect.state === undefined || request.state === undefined
    ? passed(dependencies, input, { request, target, text: body, sessionId, stored: null })
    : continued(dependencies, input, { query, known, target, format: dialect.state, state: request.state });
}

interface Continuation {
  query: TargetQuery;
  known: Known;
  target: Target;
  format: StateFormat;
  state: RequestState;
}

/** A request of a dialect with stored responses, with all it continues. */
async function continued(
  dependencies: ReaderDependencies,
  input: RequestBody,
  { query, known, target: first, format, state }: Continuation,
): Promise<NamedRequest> {
  const { body, actor, isAnswered } = input;
  const { request, sessionId } = query;
  const { previousId } = state;
  const [previous] = known.chain;
  // From the deployment at the provider of the continued response.
  const target = previous === undefined ? first : startingAt(first, previous.provider);
  const provider = target.chain[0].provider.name;
  const naming = { ...input, state, format, provider, ...known };
  const { ownText, text, leftOut } = await continuedText(dependencies.responses, naming);
  const { tenantId, userId } = actor;
  const store =
    state.keeps && isAnswered
      ? dependencies.responses.storing({
          ...{ tenantId, userId, previousId },
          input: await readPart(ownText, tenantId, () => format.inputOf(ownText)),
          itemIds: [...state.places.keys(), ...idsBut(leftOut, state)],
        })
      : null;
  const stored = { previousId, store, leftOut: leftOutNames(leftOut, state) };
  if (text === body) return passed(dependencies, input, { request, target, text, sessionId, stored });
  const whole = await parsed(input, text);
  // The whole conversation has another affinity, which all its requests share.
  const full = findTarget(dependencies, { ...query, request: whole });
  const named = { request: whole, target: startingAt(full, provider), text, sessionId, stored };
  return passed(dependencies, input, named);
}

type Text = Omit<NamedRequest, 'facts' | 'parts' | 'source' | 'reread'>;
type Whole = Omit<Text, 'sent' | 'guardrails'> & { request: CompletionRequest };

/** Everything a turn needs of a request, as its guardrails let it pass. */
function passed(
  { guardrails }: ReaderDependencies,
  input: RequestBody,
  whole: Whole,
): NamedRequest | Promise<NamedRequest> {
  const { body: sent } = input;
  if (input.settings.guardrails === null) return reduced(input, { ...whole, sent, guardrails: null });
  return guarded(guardrails, input, whole);
}

/** A changed request is read again. */
async function guarded(guardrails: Guardrails, input: RequestBody, whole: Whole): Promise<NamedRequest> {
  const checked = await guardedRequest(guardrails, { ...input, ...whole, sent: input.body });
  const request = checked.text === whole.text ? whole.request : await parsed(input, checked.text);
  return reduced(input, { ...whole, ...checked, request });
}

/** Everything a turn needs of a request, without its values. */
function reduced(
  input: RequestBody,
  { request, target: fullTarget, text, sessionId, stored, ...others }: Text & { request: CompletionRequest },
): NamedRequest | Promise<NamedRequest> {
  const { share, parse, actor, settings, isAnswered } = input;
  const whole = { target: fullTarget, text, sessionId, stored, ...others };
  // A summary needs no memory and no tools, and is not remembered; nor does a count search in memory.
  const isSummary = request.compaction !== undefined;
  const target = {
    ...fullTarget,
    memory: isSummary || !isAnswered ? null : fullTarget.memory,
    tools: isSummary ? null : fullTarget.tools,
  };
  // Stored answers and summaries repeat parts of the text.
  const isHeld = (stored?.store ?? null) !== null || request.compaction === 'path';
  const previewChars = isAnswered ? settings.previewChars : 0;
  const sampleOf = text.length > rereadBytes || !isAnswered ? undefined : rereading(parse, text);
  return readPart(text, actor.tenantId, () => {
    const source = request.source(isHeld ? heldShare(share) : share);
    return {
      ...others,
      text,
      sessionId,
      stored,
      target,
      source,
      facts: requestFacts(request, { target, previewChars, sampleOf }),
      parts: isAnswered && limitsTokens(settings) ? request.promptParts() : null,
      reread: rereader(input, whole),
    };
  });
}

/** A function of its own, so nothing keeps the values of the request. */
function rereader(input: RequestBody, whole: Text): TurnInput['reread'] {
  return async (text) => reduced(input, { ...whole, text, request: await parsed(input, text) });
}

/** Reads a text again for an estimate. A function of its own, so nothing keeps the values of the request. */
function rereading(parse: RequestBody['parse'], text: Buffer): () => TextSample {
  return () => parse(text, parseJson(text)).promptSample();
}

/** For a request with an answer to store: its text counts until the response closes and releases the share itself. */
function heldShare(share: Share): Share {
  return { release: () => undefined, copied: (bytes) => share.copied?.(bytes) };
}

async function parsed({ actor, parse }: RequestBody, text: Buffer): Promise<CompletionRequest> {
  const { tenantId } = actor;
  if (text.length <= smallBytes) return parse(text, parseJson(text));
  const value = await parseBody(text, tenantId);
  return readPart(text, tenantId, () => parse(text, value));
}

/** Null for a request without names. */
function namesIn({ model, operation, state }: CompletionRequest): Names | null {
  const fits = (id: string): boolean => id.length <= maxIdChars;
  const agent = operation === 'chat' ? agentRef(model) : null;
  const previousId = state?.previousId ?? null;
  const itemIds =
    state === undefined || state.references.size > maxReferences
      ? []
      : [...unknownIds(state), ...newestThoughts(state).map(([, id]) => id)];
  const names = {
    agent: agent !== null && fits(agent) ? agent : null,
    previousId: previousId !== null && fits(previousId) ? previousId : null,
    itemIds: itemIds.filter(fits),
  };
  return names.agent === null && names.previousId === null && names.itemIds.length === 0 ? null : names;
}
