import { useAnswer } from '../api/use-answer.ts';
import { Choice } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';

interface AgentChoiceProps {
  /** Its id; empty before a choice. */
  value: string;
  onChange: (id: string) => void;
  param?: string;
}

/** One of the first hundred agents. */
export function AgentChoice(props: AgentChoiceProps) {
  const agents = useAnswer('GET /v1/agents', { query: { limit: '100', status: 'active' } });
  return (
    <KnownAnswer known={agents}>
      {({ data }) => (
        <Choice
          label="Agent"
          {...props}
          options={{ '': 'Choose an agent', ...Object.fromEntries(data.map(({ id, name }) => [id, name])) }}
        />
      )}
    </KnownAnswer>
  );
}
