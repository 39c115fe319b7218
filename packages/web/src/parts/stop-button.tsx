import type { Trace } from '@gatehouse/contract/traces';
import { useState } from 'preact/hooks';
import { ConfirmedButton } from './confirmed-button.tsx';
import { Choice, TextField } from './fields.tsx';

const holds = {
  '0': 'no',
  '60': 'for 1 minute',
  '3600': 'for 1 hour',
  '86400': 'for 1 day',
};
type Hold = keyof typeof holds;

/** Stops a run, or all like it, after a question. */
export function StopButton({ run, onDone }: { run: Trace; onDone: () => void }) {
  const things = thingsOf(run);
  const [what, setWhat] = useState('run_id');
  const [hold, setHold] = useState<Hold>('60');
  const [reason, setReason] = useState('');
  const body = {
    [what]: things.find(({ name }) => name === what)?.value ?? run.id,
    hold_seconds: Number(hold),
    ...(reason !== '' && { reason }),
  };
  return (
    <ConfirmedButton
      label="Stop"
      subject={`the run of ${run.request_model}`}
      name="POST /v1/runs/stop"
      input={{ body }}
      onDone={onDone}
    >
      <p>
        Its provider call is aborted within a second, and no tool is called again. What was used so far is
        charged.
      </p>
      <Choice<string>
        label="Stop"
        value={what}
        onChange={setWhat}
        options={Object.fromEntries(things.map(({ name, label }) => [name, label]))}
      />
      <Choice<Hold> label="Refuse new requests like it" value={hold} onChange={setHold} options={holds} />
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        hint="For the audit log"
        maxLength={500}
      />
    </ConfirmedButton>
  );
}

function thingsOf(run: Trace): { name: string; label: string; value: string | null }[] {
  return [
    { name: 'run_id', label: 'this run alone', value: run.id },
    { name: 'session_id', label: `its session, ${run.session_id ?? ''}`, value: run.session_id },
    { name: 'user_id', label: `all of the user ${run.user_id ?? ''}`, value: run.user_id },
    { name: 'agent_id', label: `all of the agent ${run.agent_key ?? ''}`, value: run.agent_id },
    { name: 'api_key_id', label: `all of the key ${run.api_key_name ?? ''}`, value: run.api_key_id },
  ].filter(({ value }) => value !== null);
}
