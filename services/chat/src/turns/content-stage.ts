import type { AnswerView } from '@gatehouse/dialects/dialect';
import { RunContent, type AgentAdditions, type RunContents } from '../run-content/run-content.ts';
import { answerAdditions } from './stored-response-stage.ts';
import type { AnswerFilter, AnswerObserver, StartedTurn, TurnStage } from './turn-stage.ts';

export interface ContentDependencies {
  contents: RunContents;
}

/**
 * Stores what a run sent and received after its end, for tenants that store it. The last stage: it sees answers as their
 * clients get them.
 */
export function contentStage({ contents }: ContentDependencies): TurnStage {
  return {
    request(turn, { sent }) {
      if (!turn.settings.storesContent) return undefined;
      const { run, dialect, arrivedAt } = turn;
      const { id, tenantId, userId } = run.identity;
      turn.content = new RunContent({
        ...{ run: { id, tenantId, userId }, dialect, arrivedAt },
        ...{ share: contents.openShare(tenantId), agent: additionsOf(turn) },
      });
      return turn.content.addRequest(sent);
    },
    answer(turn) {
      const { content, answerGuard, request } = turn;
      if (content === null) return null;
      if (answerGuard?.restores !== true) return { filter: seenBy(content) };
      // Values of a run are stored nowhere: its content has their placeholders.
      const view = request.viewWith?.(answerAdditions(turn)) ?? null;
      answerGuard.observe(observedBy(content, view));
      return null;
    },
    ended(turn) {
      const { content, run } = turn;
      // Without a provider call there is no run.
      if (content === null || run.calls === 0) return;
      turn.content = null;
      contents.add(content);
    },
  };
}

function additionsOf({ target, passages }: StartedTurn): AgentAdditions | null {
  const { agentId, systemPrompt, defaults } = target;
  return agentId === null ? null : { systemPrompt, parameters: defaults, passages };
}

/** Sees an answer before its values, as its client would get it. */
function observedBy(content: RunContent, view: AnswerView | null): AnswerObserver {
  const shownFrames = (frames: readonly Buffer[]): readonly Buffer[] =>
    view === null ? frames : frames.map((frame) => view.frame(frame));
  return {
    frames: (frames) => content.addFrames(shownFrames(frames)),
    lastFrames: (frames) => content.endFrames(shownFrames(frames)),
    whole: async (bytes, model) => {
      const { tenantId } = content.run;
      await content.addDocument(view === null ? bytes : await view.whole(bytes, tenantId, model));
    },
  };
}

function seenBy(content: RunContent): AnswerFilter {
  return {
    stream: (next) => ({
      write: (frames) => {
        content.addFrames(frames);
        return next.write(frames);
      },
      onDrain: (listener) => next.onDrain(listener),
    }),
    lastFrames: (frames) => {
      content.endFrames(frames);
      return frames;
    },
    whole: async (bytes) => {
      await content.addDocument(bytes);
      return bytes;
    },
  };
}
