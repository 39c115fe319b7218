import { RunContent, type AgentAdditions, type RunContents } from '../run-content/run-content.ts';
import type { AnswerFilter, StartedTurn, TurnStage } from './turn-stage.ts';

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
    answer({ content }) {
      return content === null ? null : { filter: seenBy(content) };
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
