import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';

/** Leads from a part of an agent back to the agent, for those who may see its settings. */
export function AgentLink({ id }: { id: string }) {
  if (!may(usePerson(), { scope: 'agents.write' })) return null;
  return (
    <p class="actions">
      <a class="button" href={`/app/agents/${id}`}>
        Agent
      </a>
    </p>
  );
}
