import { maxCalls } from '../bounds.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { JsonSource, RawJson, writeJson } from '../wire/json-text.ts';
import { frameData } from '../wire/sse-frames.ts';
import type { AssistantMessage, ToolCall, ToolStream } from '../dialect.ts';
import { readCalls, withNewIds } from '../tool-arguments.ts';
import type { IdRule } from '../translation/call-ids.ts';
import { JoinedAnswers } from '../joined-answers.ts';
import { latestReport, sumReports } from '../usage/reported-usage.ts';
import { JoinedStream } from '../joined-stream.ts';
import type { ToolEvent } from '../tool-event.ts';
import { isMarked } from '../marked-signatures.ts';
import { callIn, calledName, isBlank, isKeepAlive, isSigned, partsOf } from './content.ts';
import { memberIn, objectIn, objectsIn } from './fields.ts';
import { frameOf, hasFinished, isBlocked, responseIn } from './stream.ts';
import { textOf } from '../translation/fields.ts';
import { charsEach, maxParts, maxReadChars, parsedBytes } from '../bounds.ts';

const callIds: IdRule = { fits: (id) => /^[\x21-\x7e]{1,256}$/.test(id), prefix: 'call_' };

/** The parts of a model's content. */
export class ModelContent implements AssistantMessage {
  /** As the model wrote them: their signatures count for all their content. */
  readonly parts: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(parts: readonly Fields[], calls: readonly ToolCall[]) {
    this.parts = parts;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(parts: readonly Fields[]): ModelContent {
    const called = parts.map(callIn).filter((call) => call !== null);
    const calls = readCalls(
      called.map(({ id, name, args }) => ({ id, name, argumentsText: argumentsText(args) })),
    );
    return new ModelContent(parts, calls);
  }

  /** The same for an answer stopped for this reason: calls of a broken-off answer are not to be made. */
  stopped(reason: unknown): ModelContent {
    const isWhole = textOf(reason) === '' || wholeReasons.has(textOf(reason).toUpperCase());
    return isWhole ? this : new ModelContent(this.parts, []);
  }

  /** Reasoning is signed by the vendor of the model. */
  get isSigned(): boolean {
    return this.parts.some(isSigned);
  }

  /** The ids are the gateway's own where the model gave no id: those in the parts stay as they are. */
  identified(used: Set<string>): ModelContent {
    const calls = withNewIds(this.calls, used, callIds);
    return new ModelContent(this.parts, calls);
  }

  /** Without empty texts, unless they carry a signature. */
  get text(): string {
    const parts = this.parts.filter((part) => part['text'] !== '' || Object.keys(part).length > 1);
    return writeJson({ role: 'model', parts });
  }

  /** One content: the results stand in the order of the calls, with the model's ids. */
  resultTexts(results: readonly string[]): string[] {
    const called = this.parts.map(callIn).filter((call) => call !== null);
    const parts = called.map(({ id, name }, index) => ({
      functionResponse: {
        ...(typeof id === 'string' && id !== '' && { id }),
        ...{ name, response: { output: results[index] ?? '' } },
      },
    }));
    return [JSON.stringify({ role: 'user', parts })];
  }
}

/**
 * The first candidate of a response with the arguments of its calls as they are written: parsing and writing them again would
 * change big numbers.
 */
export function exactArguments(candidate: Fields, sourceOf: () => JsonSource | null): Fields {
  const candidateParts = partsOf(candidate['content']);
  if (!candidateParts.some((part) => isFields(callIn(part)?.['args']))) return candidate;
  const list = memberIn(memberIn(sourceOf(), 'content'), 'parts');
  const parts = candidateParts.map((part, index) => {
    const call = callIn(part);
    const args =
      call === null ? null : (memberIn(list?.element(index) ?? null, 'functionCall')?.textOf('args') ?? null);
    if (call === null || args === null || !isFields(call['args'])) return part;
    const name = Object.hasOwn(part, 'functionCall') ? 'functionCall' : 'function_call';
    return { ...part, [name]: { ...call, args: new RawJson(args) } };
  });
  return { ...candidate, content: { ...(candidate['content'] as Fields), parts } };
}

/** The same for the response in the frame of a stream. */
export function exactResponse(response: Fields, frame: Buffer): Fields {
  const [first, ...others] = listOf(response['candidates']);
  if (!isFields(first)) return response;
  const source = (): JsonSource | null =>
    new JsonSource(Buffer.from(frameData(frame) ?? '')).member('candidates')?.element(0) ?? null;
  const exact = exactArguments(first, source);
  return exact === first ? response : { ...response, candidates: [exact, ...others] };
}

function argumentsText(args: unknown): string {
  if (args === undefined || args === null) return '';
  return isFields(args) ? writeJson(args) : textOf(args) || JSON.stringify(args);
}

/** All others mean an answer broken off by the model. */
const wholeReasons = new Set(['STOP', 'FINISH_REASON_UNSPECIFIED']);

/** Puts the parts of a streamed content together. */
export class PartsBuilder {
  readonly #parts: Fields[] = [];
  #chars = 0;
  #dataChars = 0;
  #calls = 0;

  /** Pieces of one text become one part; a part with a signature stays as it is. Throws at more than an answer may have. */
  add(parts: readonly Fields[]): void {
    for (const part of parts) {
      if (isKeepAlive(part)) continue;
      const { text } = part;
      const last = this.#parts.at(-1);
      const isPlain = typeof text === 'string' && isPlainText(part);
      this.#count(part, isPlain ? text.length : JSON.stringify(part).length);
      if (isPlain && last !== undefined && goesOn(last) && last['thought'] === part['thought'])
        last['text'] = String(last['text']) + text;
      else this.#parts.push({ ...part });
      if (this.#parts.length > maxParts) throw new Error('the answer has too many parts');
    }
  }

  #count(part: Fields, chars: number): void {
    const { data } = objectIn(part, 'inlineData');
    const dataChars = typeof data === 'string' ? data.length : 0;
    this.#dataChars += dataChars;
    this.#chars += charsEach + Math.max(0, chars - dataChars);
    if (this.#chars > maxReadChars || this.#dataChars > parsedBytes)
      throw new Error('the answer is too large to be put together');
    this.#calls += callIn(part) === null ? 0 : 1;
    if (this.#calls > maxCalls) throw new Error('the answer has too many calls of tools');
  }

  get built(): ModelContent {
    return ModelContent.of(this.#parts);
  }

  /** The parts as they are. */
  get parts(): readonly Fields[] {
    return this.#parts;
  }
}

function isPlainText(part: Fields): boolean {
  return (
    typeof part['text'] === 'string' &&
    Object.keys(part).every((name) => name === 'text' || name === 'thought')
  );
}

/** Translation signs a text at its first piece. */
function goesOn({ thoughtSignature, ...part }: Fields): boolean {
  return (thoughtSignature === undefined || isMarked(thoughtSignature)) && isPlainText(part);
}

export class ContentToolAnswers extends JoinedAnswers {
  protected override readonly usageName = 'usageMetadata';

  protected override exact(answer: Fields, source: JsonSource): Fields {
    const [first, ...others] = listOf(answer['candidates']);
    if (!isFields(first)) return answer;
    const exact = exactArguments(first, () => source.member('candidates')?.element(0) ?? null);
    return exact === first ? answer : { ...answer, candidates: [exact, ...others] };
  }

  protected override read(answer: Fields): ModelContent | null {
    const [candidate] = objectsIn(answer, 'candidates');
    if (candidate === undefined) return null;
    return ModelContent.of(partsOf(candidate['content'])).stopped(candidate['finishReason']);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const allCandidates = listOf(answer['candidates']);
    const candidates = allCandidates.map((each) => (isFields(each) ? withoutOwn(each, this.isOwn) : each));
    const isSame = candidates.every((each, index) => each === allCandidates[index]);
    return { answer: isSame ? answer : { ...answer, candidates }, isSame };
  }
}

/** The thoughts before a call of the gateway, as translation has signed them. */
interface OwnThoughts {
  signature: unknown;
}

/**
 * A candidate without calls of the gateway's tools; the same if it has no call of them. The thoughts before one belong
 * to the next call.
 */
export function withoutOwn(
  candidate: Fields,
  isOwn: (name: string) => boolean,
  ownThoughts: OwnThoughts = { signature: undefined },
): Fields {
  const parts = partsOf(candidate['content']);
  const clientParts = parts.flatMap((part) => {
    const { thoughtSignature } = part;
    if (isOwn(calledName(part))) {
      if (isMarked(thoughtSignature)) ownThoughts.signature = thoughtSignature;
      return [];
    }
    if (ownThoughts.signature === undefined || callIn(part) === null) return [part];
    const signed = { thoughtSignature: ownThoughts.signature, ...part };
    ownThoughts.signature = undefined;
    return [signed];
  });
  if (clientParts.length === parts.length && clientParts.every((part, index) => part === parts[index]))
    return candidate;
  return { ...candidate, content: { ...(candidate['content'] as Fields), parts: clientParts } };
}

/** A frame as the client gets it. */
interface ClientFrame {
  frame: Buffer;
  response: Fields;
}

/**
 * Passes the frames of several calls of a model on as one stream: the client sees one end, usage growing over all
 * calls, and no call of the gateway's own tools. Frames without a change stay as they are.
 */
export class ContentToolStream extends JoinedStream implements ToolStream {
  #isFirst = true;
  #parts = new PartsBuilder();
  /** Whether a call of the gateway was left out of the answer under way. */
  #hasOwn = false;
  #ownThoughts: OwnThoughts = { signature: undefined };
  /** Why the answer under way stopped. */
  #reason: unknown;
  /** The usage of the calls before, and of the one under way. */
  #before: unknown;
  #usage: Fields = {};
  /** Frames from the first possible last one on: passed on with their end only if no other call follows. */
  #held: ClientFrame[] = [];

  /** They say something, too. */
  ended(frames: readonly Buffer[]): void {
    this.write(frames);
  }

  /** Calls of the gateway are left out of every answer, so it need not know which may have one. */
  next(): void {
    const spoken = this.#held.map(({ response }) => withoutEnd(response)).filter(hasOutput);
    this.send(spoken.map(frameOf));
    this.#before = this.#isFirst ? this.#usage : sumReports(this.#before, this.#usage);
    this.#isFirst = false;
    this.#parts = new PartsBuilder();
    this.#hasOwn = false;
    this.#ownThoughts = { signature: undefined };
    this.#reason = undefined;
    this.#usage = {};
    this.#held = [];
  }

  get message(): ModelContent {
    return this.#parts.built.stopped(this.#reason);
  }

  /** Sends a response with a field ignored by Google's SDKs: they fail at events with a name. */
  override show(event: ToolEvent): void {
    this.send([frameOf({ 'gatehouse.tool': event })]);
  }

  finish(): void {
    this.send(this.#held.slice(0, -1).map(({ frame }) => frame));
  }

  endFrames(): Buffer[] {
    return this.#held.slice(-1).map(({ frame }) => frame);
  }

  protected override passed(frame: Buffer): Buffer[] {
    const read = responseIn(frame);
    if (read === null) return [frame];
    const response = exactResponse(read, frame);
    this.#usage = latestReport(this.#usage, response['usageMetadata']);
    const candidates = listOf(response['candidates']);
    const [first] = candidates.filter(isFields);
    this.#parts.add(partsOf(first?.['content']));
    const clientCandidates = candidates.map((each) =>
      isFields(each) ? withoutOwn(each, this.isOwn, this.#ownThoughts) : each,
    );
    const isSame = clientCandidates.every((each, index) => each === candidates[index]);
    this.#hasOwn ||= !isSame;
    const clientFrame = this.#clientFrame(frame, response, isSame ? null : clientCandidates);
    if (first !== undefined && hasFinished(first)) this.#reason = first['finishReason'];
    const isEnd = isBlocked(response) || (first !== undefined && hasFinished(first));
    if (!isEnd && this.#held.length === 0)
      return isSame || hasOutput(clientFrame.response) ? [clientFrame.frame] : [];
    if (this.#hasOwn) {
      this.#hold(clientFrame);
      return [];
    }
    const released = this.#held.map((each) => each.frame);
    this.#held = [clientFrame];
    return released;
  }

  /** Keeps only the usage of frames without content, however many come. */
  #hold({ frame, response }: ClientFrame): void {
    const last = this.#held.at(-1);
    if (last === undefined || hasOutput(response)) {
      this.#held.push({ frame, response });
      return;
    }
    const { usageMetadata = last.response['usageMetadata'] } = response;
    const merged = { ...last.response, usageMetadata };
    this.#held.splice(-1, 1, { frame: frameOf(merged), response: merged });
  }

  /** `candidates`: replacements for the provider's; null leaves them. */
  #clientFrame(frame: Buffer, response: Fields, candidates: readonly unknown[] | null): ClientFrame {
    const { usageMetadata } = response;
    const isLater = !this.#isFirst && isFields(usageMetadata);
    if (!isLater && candidates === null) return { frame, response };
    const changed = {
      ...response,
      ...(candidates !== null && { candidates }),
      ...(isLater && { usageMetadata: sumReports(this.#before, usageMetadata) }),
    };
    return { frame: frameOf(changed), response: changed };
  }
}

/** A response of which more follows. */
function withoutEnd(response: Fields): Fields {
  const candidates = listOf(response['candidates']).map((candidate) => {
    if (!isFields(candidate)) return candidate;
    const { finishReason: _reason, finishMessage: _message, ...others } = candidate;
    return others;
  });
  return { ...response, candidates };
}

/** Whether a candidate has a part for the client. */
function hasOutput(response: Fields): boolean {
  return listOf(response['candidates']).some(
    (candidate) => isFields(candidate) && partsOf(candidate['content']).some((part) => !isBlank(part)),
  );
}
