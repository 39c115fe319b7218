import type { Trace } from '@gatehouse/contract/traces';
import { useState } from 'preact/hooks';
import { useFollowedTraces } from '../api/use-followed-traces.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionButton } from './action-button.tsx';
import { KeySnippets } from './key-snippets.tsx';
import { Money } from './money.tsx';
import { NewSecret } from './new-secret.tsx';
import { Problem } from './problem.tsx';
import { Status } from './status.tsx';

const unfiltered = { status: '', user_id: '', session_id: '', agent_id: '', channel: '' };
const anyKey = 'YOUR_KEY';

/** Waits for the first request: the lines to send it, and the run once it comes. */
export function FirstRequest({ onDone }: { onDone: () => void }) {
  const [secret, setSecret] = useState('');
  const { traces, error } = useFollowedTraces(unfiltered);
  const run = traces.at(-1);
  if (run !== undefined) return <FirstRun run={run} onDone={onDone} />;
  return (
    <section class="first-request">
      <h2>Send the first request</h2>
      {secret === '' ? <FirstKey onCreated={setSecret} /> : <NewSecret label="API key." secret={secret} />}
      <KeySnippets secret={secret === '' ? anyKey : secret} />
      <Problem error={error} />
      <p role="status" class="waiting">
        <span class="pulse" aria-hidden="true" />
        Waiting for a request. It appears here within two seconds.
      </p>
    </section>
  );
}

function FirstKey({ onCreated }: { onCreated: (key: string) => void }) {
  const person = usePerson();
  const done = ({ key }: { key: string }): void => onCreated(key);
  const common = { label: 'Create a key', subject: 'for the first request', onDone: done };
  const body = { name: 'First request' };
  if (may(person, { scope: 'keys.write' }))
    return (
      <p class="actions">
        <ActionButton {...common} name="POST /v1/api-keys" input={{ body: { ...body, role: 'user' } }} />
        <span class="faint">It is filled in below.</span>
      </p>
    );
  if (person.user_id === null) return <p class="faint">Put your key in place of {anyKey}.</p>;
  return (
    <p class="actions">
      <ActionButton {...common} name="POST /v1/me/api-keys" input={{ body }} />
      <span class="faint">It is filled in below.</span>
    </p>
  );
}

function FirstRun({ run, onDone }: { run: Trace; onDone: () => void }) {
  const { id, status, request_model: model, input_tokens: input, output_tokens: output } = run;
  return (
    <section class="first-request">
      <h2>Your first request is here</h2>
      <p>
        <Status state={status} /> <strong>{model}</strong>
        {` · ${milliseconds(run.duration_ms)} · ${count(input)} tokens in, ${count(output)} out · `}
        {run.cost_usd === null ? 'cost not known' : <Money amount={run.cost_usd} />}
      </p>
      {run.error === null ? null : <p>{run.error.message}</p>}
      <p class="actions">
        <a class="button primary" href={`/app/traces/${id}`}>
          Open its trace
        </a>
        <button type="button" onClick={onDone}>
          Show the figures
        </button>
      </p>
    </section>
  );
}
