import type { TraceContent } from '@gatehouse/contract/trace-content';
import type { Trace } from '@gatehouse/contract/traces';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { mostMessages } from '../bounds.ts';
import { milliseconds } from '../format/amounts.ts';
import {
  jsonText,
  readableInstructions,
  readableMessage,
  readableResponse,
  type ReadableMessage,
} from '../format/content.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { EmptyState } from './empty-state.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { saveFile } from './save-file.ts';
import { Status } from './status.tsx';
import { TextBlock } from './text-block.tsx';

/** Everything sent and received by a run; its previews where the tenant stores no more. */
export function RunContent({ trace }: { trace: Trace }) {
  const isRunning = trace.status === 'running';
  const known = useAnswer('GET /v1/traces/{id}/content', isRunning ? null : { params: { id: trace.id } });
  if (isRunning)
    return <EmptyState title="The content is stored when the run ends.">Reload the page then.</EmptyState>;
  if (known.error?.code === 'content_not_stored')
    return <NotStored trace={trace} reason={known.error.message} />;
  return <KnownAnswer known={known}>{(content) => <StoredContent content={content} />}</KnownAnswer>;
}

function NotStored({ trace, reason }: { trace: Trace; reason: string }) {
  const isAdmin = may(usePerson(), { scope: 'keys.write' });
  const { input_preview: input, output_preview: output } = trace;
  return (
    <>
      <EmptyState title="The content of this run is not stored.">
        <p>{reason}</p>
        <p>
          {isAdmin ? (
            <>
              Choose in <a href="/app/settings">Settings</a> to store the full content of new runs.
            </>
          ) : (
            'An admin of your tenant can choose in Settings to store the full content of new runs.'
          )}
        </p>
      </EmptyState>
      {input === null ? null : (
        <Section title="Beginning of the input">
          <TextBlock label="Beginning of the input" text={input} />
        </Section>
      )}
      {output === null ? null : (
        <Section title="Beginning of the output">
          <TextBlock label="Beginning of the output" text={output} />
        </Section>
      )}
    </>
  );
}

function StoredContent({ content }: { content: TraceContent }) {
  const { id, parameters, instructions, messages, agent, response, tool_calls: calls, truncated } = content;
  const save = (): void =>
    saveFile(new Blob([jsonText(content)], { type: 'application/json' }), `run-${id}.json`);
  return (
    <>
      <p class="actions">
        <button type="button" onClick={save}>
          Save as JSON
        </button>
        {truncated ? <span>Parts that are too large are cut or left out.</span> : null}
      </p>
      <Messages
        title="System prompt"
        messages={instructions === null ? [] : [readableInstructions(instructions)]}
      />
      {agent === null ? null : <AgentAdditions agent={agent} />}
      <Conversation title="Messages" messages={messages} />
      <ToolCalls calls={calls} />
      <Messages title="Response" messages={readableResponse(response)} />
      <Values title="Parameters of the request" values={parameters} />
    </>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** The newest messages, and the earlier ones on demand. */
function Conversation({ title, messages }: { title: string; messages: readonly unknown[] }) {
  const [isWhole, setWhole] = useState(false);
  const first = isWhole ? 0 : Math.max(0, messages.length - mostMessages);
  return (
    <Messages title={title} messages={messages.slice(first).map(readableMessage)} first={first}>
      {first === 0 ? null : (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            {first === 1 ? 'Show 1 earlier message' : `Show ${first} earlier messages`}
          </button>
        </p>
      )}
    </Messages>
  );
}

interface MessagesProps {
  title: string;
  messages: readonly ReadableMessage[];
  /** The index of the first one. */
  first?: number;
  children?: ComponentChildren;
}

function Messages({ title, messages, first = 0, children }: MessagesProps) {
  if (messages.length === 0) return null;
  return (
    <Section title={title}>
      {children}
      {messages.map(({ title: role, parts }, index) => (
        <div key={first + index} class={role === 'user' ? 'message from-user' : 'message'}>
          <h3>{role.replaceAll('_', ' ')}</h3>
          {parts.map(({ text, isJson }, part) =>
            isJson ? (
              <TextBlock key={part} label={`${title} ${first + index + 1}, ${role}`} text={text} />
            ) : (
              <p key={part}>{text}</p>
            ),
          )}
        </div>
      ))}
    </Section>
  );
}

/** The additions of an agent to the request. */
function AgentAdditions({ agent }: { agent: NonNullable<TraceContent['agent']> }) {
  const { system_prompt: prompt, parameters, passages } = agent;
  return (
    <>
      {prompt === null ? null : (
        <Section title="System prompt of the agent">
          <TextBlock label="System prompt of the agent" text={prompt} />
        </Section>
      )}
      {passages.length === 0 ? null : (
        <Section title="Passages from memory">
          {passages.map(({ path, title, start_line: start, end_line: end, score, text }) => (
            <div key={`${path} ${start}`} class="message">
              <h3>
                {title === null ? path : `${title} (${path})`}, lines {start} to {end}, score{' '}
                {score.toFixed(2)}
              </h3>
              <p>{text}</p>
            </div>
          ))}
        </Section>
      )}
      <Values title="Parameters of the agent" values={parameters} />
    </>
  );
}

function ToolCalls({ calls }: { calls: TraceContent['tool_calls'] }) {
  if (calls.length === 0) return null;
  return (
    <Section title="Tool calls">
      {calls.map(({ server, name, arguments: input, result, is_error: isError, ...call }, index) => (
        <details key={index} class="message" open={calls.length === 1}>
          <summary>
            {server === null ? name : `${server} · ${name}`} · {milliseconds(call.duration_ms)}{' '}
            <Status state={isError ? 'error' : 'ok'} />
          </summary>
          <h3>Arguments</h3>
          <TextBlock label={`Arguments of call ${index + 1}, ${name}`} text={jsonText(input)} />
          <h3>Result</h3>
          {result === null ? (
            <p class="faint">The result is left out.</p>
          ) : (
            <TextBlock label={`Result of call ${index + 1}, ${name}`} text={result} />
          )}
        </details>
      ))}
    </Section>
  );
}

function Values({ title, values }: { title: string; values: Readonly<Record<string, unknown>> }) {
  if (Object.keys(values).length === 0) return null;
  return (
    <Section title={title}>
      <TextBlock label={title} text={jsonText(values)} />
    </Section>
  );
}
