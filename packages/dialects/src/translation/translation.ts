import type { DialectName } from '@gatehouse/contract/dialects';
import { newId } from '@gatehouse/kit/ids';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { scanCooperatively } from '@gatehouse/kit/cooperative-scan';
import type { ProviderError } from '../dialect.ts';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import type { Usage } from '../usage/usage.ts';
import { isParsable, parsedPart, wholeOf } from '../wire/json-parts.ts';
import { stopAfter, type Answer, type AnswerPart } from './answer.ts';
import {
  isAnswer,
  type ClientFormat,
  type ModelFacts,
  type ProviderFormat,
  type SealSummary,
  type SummaryFormat,
  type TranslatedApi,
} from './api.ts';
import { openAiChatTranslation } from '../openai-chat/translation.ts';
import type { Conversation, ReasoningSignature } from './conversation.ts';
import { bedrockConverseTranslation } from '../bedrock-converse/translation.ts';
import { geminiTranslation } from '../gemini/translation.ts';
import { CutTexts } from '../wire/cut-texts.ts';
import { withAutomaticPoints } from './automatic-points.ts';
import { mendedConversation } from './mended-conversation.ts';
import { JsonSource } from '../wire/json-text.ts';
import { jsonPieces } from '../wire/json-pieces.ts';
import { DroppedFields } from './dropped-fields.ts';
import { anthropicMessagesTranslation } from '../anthropic-messages/translation.ts';
import type { Pieces } from '../wire/pieces.ts';
import { openAiResponsesTranslation } from '../openai-responses/translation.ts';
import { checkedTurns, signatureAt, readableTurns, turnsAt, withMac } from './signatures.ts';
import {
  ReasoningCollector,
  thinkingTurns,
  type CallReasoning,
  type KnownReasoning,
} from './signed-reasoning.ts';
import { runSteps, cooperativeFor, type InTurn, type Steps } from '@gatehouse/kit/cooperative-steps';
import { CallEnds, withoutCutCall } from './cut-calls.ts';
import type { EventSource, EventWriter, StreamEvent, WrittenEvent } from './stream-events.ts';
import { summarising } from './json-output.ts';
import { CallRestorer, ToolNames } from './tool-names.ts';

/** The APIs of clients. */
const clients: Record<DialectName, TranslatedApi> = {
  chat: openAiChatTranslation,
  responses: openAiResponsesTranslation,
  messages: anthropicMessagesTranslation,
  gemini: geminiTranslation,
};
/** The APIs of providers. */
const upstreams = { ...clients, converse: bedrockConverseTranslation } satisfies Record<
  string,
  ProviderFormat
>;

export interface ProviderRequest {
  /** Shares the memory of long texts with the client's request. */
  body: Pieces;
  /** Bytes not shared with the request. */
  copied: number;
  ignored: string[];
}

interface TranslatedRequest {
  /** The tenant charged for a large request's turns at the event loop. */
  tenantId: string | null;
  /** Whether a stream is asked for, where the client's API says so in the path. */
  isStream?: boolean;
  /** Thoughts of its earlier answers without a place at its client. */
  thoughts?: KnownReasoning;
  /** Whether the provider counts the tokens of the request instead of answering it, where its API can. */
  isCount?: boolean;
}

/**
 * Calls of an answer with the thoughts before them; an empty list for clients with a place for thoughts with their
 * signatures.
 */
interface ThoughtsBeside {
  readonly thoughts: readonly CallReasoning[];
}

export interface TranslatedAnswer extends ThoughtsBeside {
  bytes: Buffer;
}

/** Whether clients of an API lose the signatures of reasoning, so the gateway keeps them. */
export function losesSignatures(client: DialectName): boolean {
  return clients[client].thoughtIds !== null;
}

/**
 * Between the API of a client and the API of a provider's model. `sealSummary`: for a request with the summary of its
 * conversation as the answer.
 */
export function translationBetween(
  client: DialectName,
  upstream: keyof typeof upstreams,
  facts: ModelFacts,
  sealSummary?: SealSummary,
): Translation {
  return new Translation(clients[client], upstreams[upstream], { facts, sealSummary });
}

/** The translation of one provider call: its request first, and then its answer. */
export class Translation {
  readonly #client: ClientFormat;
  readonly #upstream: ProviderFormat;
  readonly #facts: ModelFacts;
  readonly #summaries: SummaryFormat | null;
  readonly #names: ToolNames;
  #echoed: Fields = {};

  constructor(
    client: ClientFormat,
    upstream: ProviderFormat,
    { facts, sealSummary }: { facts: ModelFacts; sealSummary: SealSummary | undefined },
  ) {
    this.#client = client;
    this.#upstream = upstream;
    this.#names = new ToolNames(upstream.toolNames);
    this.#facts = facts;
    this.#summaries = sealSummary === undefined ? null : (client.summaries?.(sealSummary) ?? null);
  }

  /**
   * The request for the provider, and the client's names of the hints left out of it. Throws a 400 with the name of the
   * field for one without an equivalent. A large one needs a turn (`LargeWork`).
   */
  async request(body: Pieces, options: TranslatedRequest): Promise<ProviderRequest> {
    const inTurn = cooperativeFor(body, options.tenantId);
    const texts = await runSteps(CutTexts.cut(body), inTurn);
    try {
      return await this.#written(texts, options, inTurn);
    } finally {
      texts.close();
    }
  }

  async #written(
    texts: CutTexts,
    { tenantId, isStream, thoughts, isCount = false }: TranslatedRequest,
    inTurn: InTurn,
  ): Promise<ProviderRequest> {
    const { short } = texts;
    const fields = await parsedFields(short, tenantId, inTurn);
    const places = this.#upstream.pointPlaces?.(this.#facts) ?? null;
    const dropped = new DroppedFields(
      this.#client.fieldNames,
      places === null ? null : this.#client.cacheHint,
    );
    const source = new JsonSource(short);
    const conversation = await runSteps(this.#client.readRequest(fields, source, dropped), inTurn);
    this.#echoed = await inTurn(() => this.#client.echoedFields?.(fields, source, texts) ?? {});
    assertSystemTexts(conversation, dropped);
    const read = this.#summaries === null ? conversation : summarising(conversation);
    const { signaturePlace } = this.#client;
    const inputTurns =
      signaturePlace === undefined
        ? read.turns
        : await runSteps(checkedTurns(read.turns, this.#facts.macs, signaturePlace), inTurn);
    const turns =
      thoughts === undefined || thoughts.size === 0
        ? inputTurns
        : await inTurn(() => thinkingTurns(inputTurns, thoughts));
    const accountTurns = await inTurn(() =>
      readableTurns(turnsAt(turns, this.#facts.account), this.#facts.unreadable),
    );
    const asking = { ...read, turns: accountTurns, stream: isStream ?? read.stream };
    const rules = this.#upstream.rules(this.#facts);
    const mended = await runSteps(mendedConversation(asking, rules, dropped), inTurn);
    const isAutomatic =
      this.#facts.cache === 'auto' &&
      places?.needsMarks === true &&
      this.#client.marksCache !== true &&
      !isCount;
    const marked = isAutomatic ? await inTurn(() => withAutomaticPoints(mended, places)) : mended;
    const flat = await runSteps(this.#names.flat(marked), inTurn);
    const request = await runSteps(this.#upstream.writeRequest(flat, this.#facts, dropped), inTurn);
    const counted = isCount ? this.#upstream.counts?.request(request as Fields, this.#facts) : undefined;
    const written = await runSteps(writtenIn(counted ?? request, short.length), inTurn);
    return { ...(await runSteps(texts.restored(written), inTurn)), ignored: dropped.ignored };
  }

  /**
   * A whole answer; the error of anything else, or of a broken-off one. Throws for an unreadable answer, or one not
   * read within 50 ms.
   */
  async whole(bytes: Buffer, tenantId: string | null): Promise<TranslatedAnswer | ProviderError> {
    const inTurn = cooperativeFor(bytes, tenantId);
    if (!(await isParsable(bytes, wholeOf(bytes), tenantId))) throw new Error('the answer is too large');
    const fields = await parsedPart(bytes, wholeOf(bytes), tenantId);
    if (!isFields(fields)) throw new Error('the answer is not an object');
    const read = await inTurn(() => this.#upstream.readAnswer(fields, new JsonSource(bytes), this.#facts));
    if (!isAnswer(read)) return read;
    if (read.broken !== null) return read.broken;
    const format = this.#summaries ?? this.#client;
    const answer = this.#restored(read);
    const collector = this.#collector();
    for (const part of answer.parts) collector?.part(part);
    return {
      bytes: await inTurn(() => Buffer.from(format.writeAnswer(answer, this.#echoed))),
      thoughts: collector?.calls ?? [],
    };
  }

  stream(): TranslatedStream {
    return new TranslatedStream(
      this.#upstream.eventSource(this.#facts),
      (this.#summaries ?? this.#client).eventWriter(this.#echoed),
      {
        restorer: new CallRestorer(this.#names),
        collector: this.#collector(),
        signed: (signature) => this.#signed(signature),
        ends: this.#upstream.hasWholeCalls ? null : new CallEnds(),
        answerId: () => this.#answerId,
      },
    );
  }

  /** The name of the number in a provider's count of tokens; null where its API has no count. */
  get countName(): string | null {
    return this.#upstream.counts?.tokens ?? null;
  }

  /** An error about the request, in the words and codes by which the client mends it. */
  error(error: ProviderError): ProviderError {
    return this.#client.formatError(error);
  }

  #collector(): ReasoningCollector | null {
    const { thoughtIds } = this.#client;
    return thoughtIds === null ? null : new ReasoningCollector(thoughtIds);
  }

  /** A signature of the provider as the client gets it. */
  #signed(signature: ReasoningSignature | null): ReasoningSignature | null {
    const { account, macs } = this.#facts;
    const made = signatureAt(signature, account);
    return made === null || this.#client.signaturePlace === undefined ? made : withMac(made, macs);
  }

  /** Clients replace an answer in their history by one with the same id. */
  get #answerId(): string {
    return this.#facts.answerId ?? newId();
  }

  #restored(read: Answer): Answer {
    const answer = this.#upstream.hasWholeCalls ? read : withoutCutCall(read);
    const parts = answer.parts.map((part) => {
      if (part.kind === 'call') return this.#names.called(part);
      return part.kind === 'thinking' ? { ...part, signature: this.#signed(part.signature) } : part;
    });
    const id = answer.id === '' ? this.#answerId : answer.id;
    return { ...answer, id, parts, stop: stopAfter(answer.stop, new Set(parts.map(({ kind }) => kind))) };
  }
}

interface StreamParts {
  restorer: CallRestorer;
  collector: ReasoningCollector | null;
  /** A signature of the provider as the client gets it. */
  signed: (signature: ReasoningSignature) => ReasoningSignature | null;
  /** Null for a provider that cuts no calls. */
  ends: CallEnds | null;
  /** The id of an answer without one. */
  answerId: () => string;
}

const unavailable = 503;

/** The translation of one stream. */
export class TranslatedStream implements ThoughtsBeside {
  /** Everything reported by the provider so far, which may reach the client at the end only. */
  usage: Usage | null = null;
  serviceTier: string | null = null;
  /** The error with which the stream has ended, if it has. */
  error: ProviderError | null = null;
  readonly #source: EventSource;
  readonly #writer: EventWriter;
  readonly #parts: StreamParts;
  readonly #sample = new SampleBuilder();
  readonly #kinds = new Set<AnswerPart['kind']>();

  constructor(source: EventSource, writer: EventWriter, parts: StreamParts) {
    this.#source = source;
    this.#writer = writer;
    this.#parts = parts;
  }

  /** Throws if the frame can't be read, or not within 50 ms. */
  frames(frame: Buffer): Buffer[] {
    return this.#source.read(frame).flatMap((event) => this.#written(event));
  }

  /** The provider ended its response in order: the rest of a complete answer, and nothing of a cut one. */
  end(): Buffer[] {
    return this.#source.end().flatMap((event) => this.#written(event));
  }

  /** Whether the answer seems to be whole, and its usage has not come yet. */
  get awaitsUsage(): boolean {
    return this.#source.awaitsUsage;
  }

  /** Everything received from the provider so far, also texts held back and possibly never sent to the client. */
  get answer(): TextSample {
    const { built } = this.#sample;
    const { held } = this.#source;
    if (held === undefined) return built;
    return { beginning: built.beginning || held.beginning, chars: built.chars + held.chars };
  }

  get thoughts(): readonly CallReasoning[] {
    return this.#parts.collector?.calls ?? [];
  }

  #written(event: StreamEvent): Buffer[] {
    const { restorer, collector } = this.#parts;
    switch (event.type) {
      case 'error':
        this.error = { ...(event.error.status === unavailable && { isOverload: true }), ...event.error };
        return [];
      case 'usage':
        ({ usage: this.usage, serviceTier: this.serviceTier } = event);
        break;
      case 'delta':
        this.#sample.add(event.text);
        break;
      case 'open':
        this.#kinds.add(event.part.kind);
        if (event.part.kind === 'call') this.#sample.add(event.part.name);
        break;
      case 'start':
      case 'close':
      case 'stop':
      case 'end':
    }
    const clientEvents = this.#parts.ends?.passed(this.#clientEvent(event)) ?? [this.#clientEvent(event)];
    return clientEvents
      .flatMap((each) => restorer.restored(each))
      .flatMap((each) => {
        collector?.event(each);
        return this.#writer.write(each);
      });
  }

  #clientEvent(event: WrittenEvent): WrittenEvent {
    if (event.type === 'start') return { ...event, id: event.id || this.#parts.answerId() };
    if (event.type === 'stop') return { ...event, stop: stopAfter(event.stop, this.#kinds) };
    return event.type === 'close' && event.signature !== null
      ? { ...event, signature: this.#parts.signed(event.signature) }
      : event;
  }
}

/** Spare bytes for added members of a short request. */
const spareBytes = 1024;

async function parsedFields(body: Buffer, tenantId: string | null, inTurn: InTurn): Promise<Fields> {
  if (body.length > smallBytes) await scanCooperatively(body, tenantId);
  // Nothing holds the text while its values are used.
  return inTurn(() => body.toString()).then((text) => inTurn(() => JSON.parse(text) as Fields));
}

/** Writes a request as JSON, of about as many bytes as are expected, without a second copy of it. */
function* writtenIn(request: object, expected: number): Steps<Buffer> {
  let written = Buffer.allocUnsafeSlow(Math.ceil(expected * 1.1) + spareBytes);
  let at = 0;
  for (const piece of jsonPieces(request)) {
    const needed = at + Buffer.byteLength(piece);
    if (needed > written.length) {
      const longer = Buffer.allocUnsafeSlow(needed * 2);
      written.copy(longer, 0, 0, at);
      written = longer;
    }
    at += written.write(piece, at);
    yield;
  }
  return written.subarray(0, at);
}

/** Throws for images and files in system texts: providers have no place for them there. */
function assertSystemTexts({ turns }: Conversation, dropped: DroppedFields): void {
  for (const { role, parts } of turns)
    if (role === 'system')
      for (const part of parts)
        if ('at' in part)
          throw dropped.unsupportedParameter(part.at, 'System texts of this model hold texts alone.');
}
