import type { Additions, AnswerView, FrameSink } from '@gatehouse/dialects/dialect';
import type { StateFormat } from '@gatehouse/dialects/state-format';
import { itemFrameBytes } from '../bounds.ts';
import { responseId } from '../stored-responses/response-id.ts';
import type { SummarySeals } from '../stored-responses/summary-seals.ts';
import type { AnswerFilter, StartedTurn, TurnStage } from './turn-stage.ts';

export interface StoredResponseDependencies {
  responses: { summaries: Pick<SummarySeals, 'seal'> };
}

/**
 * Shows answers as requested by their clients and under the ids they are stored by, stores them, and seals the
 * summaries of conversations. The reader of a request has added the stored responses it names (`readNamed`).
 */
export function storedResponseStage({ responses }: StoredResponseDependencies): TurnStage {
  return {
    request({ request, guardrails, actor: { tenantId } }) {
      if (request.compaction === undefined) return;
      const substitution = guardrails?.substitution ?? null;
      const seal = (summary: string): string =>
        responses.summaries.seal(substitution?.restored(summary) ?? summary, tenantId);
      request.sealSummary = seal;
    },
    answer(turn) {
      const { request, run, stored, dialect } = turn;
      const store = stored?.store ?? null;
      if (request.viewWith === undefined && store === null) return null;
      const { tenantId } = run.identity;
      const additions = answerAdditions(turn);
      const view = request.viewWith?.(additions) ?? null;
      const filter = view && shownBy(view, tenantId);
      const storedView = store === null ? undefined : request.keptView?.(additions);
      if (store === null || storedView === undefined) return { filter };
      const items = new ItemFrames(dialect.state);
      return {
        filter: filter && { ...filter, stream: (next) => items.before(filter.stream(next)) },
        async complete({ bytes, model, lastFrames }) {
          const frames = (): Buffer[] =>
            [...items.frames, ...lastFrames()].map((frame) => storedView.frame(frame));
          const answer =
            bytes === null
              ? (dialect.state?.endOf(frames()) ?? null)
              : await storedView.whole(bytes, tenantId, model);
          // A stream broken off is not stored.
          if (answer === null) return;
          await store(answer, { id: run.identity.id, ageMs: run.ageMs, provider: model.provider.name });
          turn.isStored = true;
        },
      };
    },
  };
}

/** The frames of a stream with items of the answer, which its last frame may lack. */
class ItemFrames {
  readonly #format: Pick<StateFormat, 'isItem'> | undefined;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(format: Pick<StateFormat, 'isItem'> | undefined) {
    this.#format = format;
  }

  /** Without those of an answer with too many. */
  get frames(): readonly Buffer[] {
    return this.#bytes > itemFrameBytes ? [] : this.#frames;
  }

  before(next: FrameSink): FrameSink {
    return {
      write: (frames) => {
        for (const frame of frames) if (this.#format?.isItem(frame) === true) this.#add(frame);
        return next.write(frames);
      },
      onDrain: (listener) => next.onDrain(listener),
    };
  }

  #add(frame: Buffer): void {
    this.#bytes += frame.length;
    // A copy: a frame shares the memory of what arrived with it.
    if (this.#bytes > itemFrameBytes) this.#frames = [];
    else this.#frames.push(Buffer.from(frame));
  }
}

/** The parts of an answer added by the gateway, or hidden since a provider repeats them. */
export function answerAdditions({ target, tools, stored, run }: StartedTurn): Additions {
  const { previousId = null, store = null } = stored ?? {};
  const isNamed = store !== null || previousId !== null;
  return {
    systemPrompt: target.systemPrompt,
    toolNames: new Set(tools?.byName.keys()),
    kept: isNamed ? { id: store === null ? null : responseId(run.identity.id), previousId } : null,
  };
}

function shownBy(view: AnswerView, tenantId: string): AnswerFilter {
  const shown = (frames: readonly Buffer[]): Buffer[] => frames.map((frame) => view.frame(frame));
  return {
    stream: (next) => ({
      write: (frames) => next.write(shown(frames)),
      onDrain: (listener) => next.onDrain(listener),
    }),
    lastFrames: shown,
    whole: (bytes, model) => view.whole(bytes, tenantId, model),
  };
}
