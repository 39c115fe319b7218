import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { latestReport, sumReports } from '../usage/reported-usage.ts';
import type { ToolStream } from '../dialect.ts';
import { JoinedStream } from '../joined-stream.ts';
import type { ToolEvent } from '../tool-event.ts';
import { partsOf } from './content.ts';
import { PartsBuilder } from './parts-builder.ts';
import { frameOf, hasFinished, isBlocked, responseIn } from './responses.ts';
import { exactResponse, type SaidParts } from './said-parts.ts';
import { withoutOwn } from './tool-answers.ts';

/** A frame as the client gets it. */
interface ClientFrame {
  frame: Buffer;
  response: Fields;
}

/**
 * Passes the frames of several calls of a model on as one stream: the client sees one end, usage that grows over all
 * calls, and none of the calls that the gateway makes itself. Frames that need no change stay as they are.
 */
export class ContentToolStream extends JoinedStream implements ToolStream {
  #isFirst = true;
  #parts = new PartsBuilder();
  /** Whether a call of the gateway was left out of the answer under way. */
  #hasOwn = false;
  /** Why the answer under way stopped. */
  #reason: unknown;
  /** The usage of the calls before, and of the one under way. */
  #before: unknown;
  #usage: Fields = {};
  /** Frames from the first on that may be the last: passed on with their end only if no other call follows. */
  #held: ClientFrame[] = [];

  /** They say something, too. */
  ended(frames: readonly Buffer[]): void {
    this.write(frames);
  }

  /** Calls of the gateway are left out of every answer, so it need not know which may have one. */
  next(): void {
    const spoken = this.#held.map(({ response }) => withoutEnd(response)).filter(saysSomething);
    this.send(spoken.map(frameOf));
    this.#before = this.#isFirst ? this.#usage : sumReports(this.#before, this.#usage);
    this.#isFirst = false;
    this.#parts = new PartsBuilder();
    this.#hasOwn = false;
    this.#reason = undefined;
    this.#usage = {};
    this.#held = [];
  }

  get message(): SaidParts {
    return this.#parts.built.stopped(this.#reason);
  }

  /** Sends a response with a field that Google's SDKs pass over: they fail at events with a name. */
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
    const clientCandidates = candidates.map((each) => (isFields(each) ? withoutOwn(each, this.isOwn) : each));
    const isSame = clientCandidates.every((each, index) => each === candidates[index]);
    this.#hasOwn ||= !isSame;
    const clientFrame = this.#clientFrame(frame, response, isSame ? null : clientCandidates);
    if (first !== undefined && hasFinished(first)) this.#reason = first['finishReason'];
    const isEnd = isBlocked(response) || (first !== undefined && hasFinished(first));
    if (!isEnd && this.#held.length === 0)
      return isSame || saysSomething(clientFrame.response) ? [clientFrame.frame] : [];
    if (this.#hasOwn) {
      this.#hold(clientFrame);
      return [];
    }
    const released = this.#held.map((each) => each.frame);
    this.#held = [clientFrame];
    return released;
  }

  /** Keeps only the usage of frames that say nothing, however many come. */
  #hold({ frame, response }: ClientFrame): void {
    const last = this.#held.at(-1);
    if (last === undefined || saysSomething(response)) {
      this.#held.push({ frame, response });
      return;
    }
    const { usageMetadata = last.response['usageMetadata'] } = response;
    const merged = { ...last.response, usageMetadata };
    this.#held.splice(-1, 1, { frame: frameOf(merged), response: merged });
  }

  /** `candidates`: those that replace the provider's; null leaves them. */
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

/** Whether a candidate has a part that the client should see. */
function saysSomething(response: Fields): boolean {
  return listOf(response['candidates']).some(
    (candidate) =>
      isFields(candidate) &&
      partsOf(candidate['content']).some((part) => part['text'] !== '' || Object.keys(part).length > 1),
  );
}
