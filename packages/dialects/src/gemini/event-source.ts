import { isFields, type Fields } from '@gatehouse/kit/fields';
import { latestReport } from '../usage/reported-usage.ts';
import type { ProviderError } from '../dialect.ts';
import { errorInEvent } from '../provider-errors.ts';
import { withoutAccount } from '../provider-errors.ts';
import { AnswerPartReader } from './answer-parts.ts';
import { memberIn, objectIn, objectsIn, valueOf } from './fields.ts';
import { publicErrorIn } from './errors.ts';
import { hasFinished, isBlocked, isKeepAliveResponse, responseIn } from './stream.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { JsonSource } from '../wire/json-text.ts';
import type { StreamEvent } from '../translation/stream-events.ts';
import { endingOf } from './response.ts';
import { AnswerSource } from '../translation/answer-source.ts';

/** Reads the frames of Gemini. No frame is marked as the last one: the end of the response is the mark. */
export class GeminiSource extends AnswerSource {
  #usage: Fields = {};
  /** Whether usage came with the finish reason, or after it. */
  #hasLastUsage = false;
  readonly #parts = new AnswerPartReader();
  #broken: ProviderError | null = null;

  protected override readFrame(frame: Buffer): StreamEvent[] {
    if (frameEvent(frame) === 'error')
      return this.failed(withoutAccount(errorInEvent(frameData(frame) ?? '')));
    const response = responseIn(frame);
    if (response === null || isKeepAliveResponse(response)) return [];
    const error = publicErrorIn(response);
    if (error !== null) return this.failed(error);
    const [candidate] = objectsIn(response, 'candidates');
    const events = this.start(valueOf(response, 'responseId'), valueOf(response, 'modelVersion'));
    if (candidate !== undefined) events.push(...this.#candidate(candidate, frame));
    const ending = endingOf(candidate, response);
    this.#broken ??= ending.broken;
    if (
      candidate === undefined
        ? isBlocked(response)
        : hasFinished({ finishReason: valueOf(candidate, 'finishReason') })
    )
      this.ending = { ...ending, broken: this.#broken };
    const report = valueOf(response, 'usageMetadata');
    if (!isFields(report)) return events;
    this.#hasLastUsage ||= this.ending !== null;
    this.#usage = latestReport(this.#usage, report);
    const usage = readUsage(this.#usage);
    return usage === null ? events : [...events, { type: 'usage', usage, serviceTier: null }];
  }

  override get awaitsUsage(): boolean {
    return this.ending !== null && !this.#hasLastUsage && !this.isOver;
  }

  #candidate(candidate: Fields, frame: Buffer): StreamEvent[] {
    const parts = objectsIn(objectIn(candidate, 'content'), 'parts');
    if (parts.length === 0) return [];
    const source = parts.some((part) => isFields(valueOf(part, 'functionCall'))) ? sourceOf(frame) : null;
    return parts.flatMap((part, index) => this.#parts.read(part, source?.element(index) ?? null));
  }

  protected override closeAll(): StreamEvent[] {
    return this.#parts.close();
  }
}

/** The parts of the first candidate in the text of a frame. */
function sourceOf(frame: Buffer): JsonSource | null {
  const source = new JsonSource(Buffer.from(frameData(frame) ?? '{}'));
  return memberIn(source.member('candidates')?.element(0) ?? null, 'content')?.member('parts') ?? null;
}
