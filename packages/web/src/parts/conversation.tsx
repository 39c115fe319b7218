import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { complete, nothingYet, type Completion, type Message } from '../api/completion.ts';
import { knownError } from '../api/use-answer.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { LongTextField } from './fields.tsx';
import { Problem } from './problem.tsx';
import { RunCost } from './run-cost.tsx';

/** A question with its answer, as far as it has arrived. */
interface PlaygroundTurn {
  question: string;
  answer: Completion;
  runId: string | null;
  error: ApiError | null;
}

/** A conversation with a model or an agent. It is kept in the page alone. */
export function Conversation({ model }: { model: string }) {
  const [turns, setTurns] = useState<readonly PlaygroundTurn[]>([]);
  const [question, setQuestion] = useState('');
  const [isRunning, setRunning] = useState(false);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const change = (turn: Partial<PlaygroundTurn>): void =>
    setTurns((all) => all.map((one, index) => (index === all.length - 1 ? { ...one, ...turn } : one)));
  const ask = async (): Promise<void> => {
    leaving.current = new AbortController();
    const messages: Message[] = [...turns.flatMap(messagesOf), { role: 'user', content: question }];
    setTurns([...turns, { question, answer: nothingYet, runId: null, error: null }]);
    setQuestion('');
    setRunning(true);
    try {
      const runId = await complete(
        { model, messages },
        (answer) => change({ answer }),
        leaving.current.signal,
      );
      change({ runId });
    } catch (problem) {
      if (!leaving.current.signal.aborted) change({ error: knownError(problem) });
    } finally {
      setRunning(false);
    }
  };
  const sendByEnter = (event: TargetedKeyboardEvent<HTMLFormElement>): void => {
    // Enter also ends the choice of a character in an input method.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    if (!isRunning && model !== '') event.currentTarget.requestSubmit();
  };
  return (
    <>
      <div class="conversation" role="log" aria-label="Conversation">
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} />
        ))}
      </div>
      <form
        onKeyDown={sendByEnter}
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <LongTextField
          label="Message"
          hint="Enter sends it, Shift and Enter begin a line."
          rows={4}
          value={question}
          onChange={setQuestion}
          isRequired
        />
        <p class="actions">
          <button type="submit" class="primary" disabled={isRunning || model === ''}>
            Send
          </button>
          {isRunning ? (
            <button type="button" onClick={() => leaving.current.abort()}>
              Stop
            </button>
          ) : null}
          <button type="button" disabled={isRunning || turns.length === 0} onClick={() => setTurns([])}>
            Start over
          </button>
        </p>
      </form>
    </>
  );
}

/** A failed turn is no part of the conversation. */
function messagesOf({ question, answer, error }: PlaygroundTurn): Message[] {
  if (error !== null) return [];
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: answer.text },
  ];
}

function TurnView({ turn: { question, answer, runId, error } }: { turn: PlaygroundTurn }) {
  const maySeeRuns = may(usePerson(), { scope: 'analytics.read' });
  return (
    <>
      <div class="message from-user">
        <h2>You</h2>
        <p>{question}</p>
      </div>
      <div class="message">
        <h2>Answer</h2>
        <p>{answer.text}</p>
        {answer.toolCalls.map((toolCall, index) => (
          <p key={index}>
            Calls <code>{`${toolCall.name}(${toolCall.arguments})`}</code>
          </p>
        ))}
        <Problem error={error} />
        {runId !== null && maySeeRuns ? <RunCost id={runId} /> : null}
      </div>
    </>
  );
}
