import type { Agent } from '@gatehouse/contract/agents';
import { useId, useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { agentLabel } from '../format/agents.ts';
import { Choice } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';

interface AgentChoiceProps {
  /** Its id; empty before a choice. */
  value: string;
  onChange: (id: string) => void;
  param?: string;
}

/** The agents of a form: the newest hundred, or those with the text of a search. */
export function useOfferedAgents(mayList = true) {
  const [q, setSearch] = useState('');
  const known = useAnswer('GET /v1/agents', mayList ? { query: { limit: '100', q } } : null);
  const isLong = q !== '' || known.answer?.has_more === true;
  return { known, search: isLong ? <AgentSearch value={q} onChange={setSearch} /> : null };
}

/** One agent. */
export function AgentChoice(props: AgentChoiceProps) {
  const { value } = props;
  const { known, search } = useOfferedAgents();
  const isOffered = value === '' || (known.answer?.data.some(({ id }) => id === value) ?? true);
  const { answer: chosen } = useAnswer(
    'GET /v1/agents/{agentID}',
    isOffered ? null : { params: { agentID: value } },
  );
  return (
    <KnownAnswer known={known}>
      {({ data }) => (
        <>
          {search}
          <Choice
            label="Agent"
            {...props}
            options={{
              '': 'Choose an agent',
              ...(!isOffered && { [value]: chosen?.id === value ? agentLabel(chosen) : value }),
              ...labelsOf(data),
            }}
          />
        </>
      )}
    </KnownAnswer>
  );
}

function labelsOf(agents: readonly Agent[]): Record<string, string> {
  return Object.fromEntries(agents.map((agent) => [agent.id, agentLabel(agent)]));
}

interface AgentSearchProps {
  value: string;
  onChange: (text: string) => void;
}

function AgentSearch({ value, onChange }: AgentSearchProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>Find an agent</label>
      <input
        id={id}
        type="search"
        maxLength={200}
        value={value}
        autocomplete="off"
        placeholder="Name, key or description"
        onInput={({ currentTarget }) => onChange(currentTarget.value.trim())}
        // Enter would send the form.
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
    </p>
  );
}
