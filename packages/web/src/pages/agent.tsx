import type { Agent as AgentData } from '@gatehouse/contract/agents';
import { useAnswer } from '../api/use-answer.ts';
import { AgentForm } from '../parts/agent-form.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Conversation } from '../parts/conversation.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { useView } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

/** One agent as a workbench: its settings beside a conversation with it; or a new one. */
export function Agent({ id }: PageProps) {
  const isNew = id === 'new';
  const known = useAnswer('GET /v1/agents/{agentID}', isNew ? null : { params: { agentID: id } });
  if (isNew) return <AgentForm agent={null} onSaved={() => {}} />;
  return (
    <KnownAnswer known={known}>{(agent) => <Workbench agent={agent} onSaved={known.reload} />}</KnownAnswer>
  );
}

function Workbench({ agent, onSaved }: { agent: AgentData; onSaved: () => void }) {
  const mayChat = may(usePerson(), { scope: 'chat' });
  return (
    <>
      <AgentActions agent={agent} />
      <div class="workbench">
        <AgentForm key={agent.updated_at} agent={agent} onSaved={onSaved} />
        {mayChat ? (
          <section class="try" aria-label="Try the agent">
            <h2>Try it</h2>
            <p class="faint">With the settings as they are saved.</p>
            <Conversation model={`agent:${agent.key}`} />
          </section>
        ) : null}
      </div>
    </>
  );
}

function AgentActions({ agent: { id, name } }: { agent: AgentData }) {
  const { go } = useView();
  return (
    <p class="actions">
      <a class="button" href={`/app/traces?period=7d&agent_id=${id}`}>
        Traces
      </a>
      <a class="button" href={`/app/memory/${id}`}>
        Memory
      </a>
      <a class="button" href={`/app/graph/${id}`}>
        Knowledge graph
      </a>
      <ConfirmedButton
        label="Delete"
        subject={name}
        name="DELETE /v1/agents/{agentID}"
        input={{ params: { agentID: id } }}
        onDone={() => go('/app/agents')}
      >
        Its memory and its knowledge graph are deleted with it, and requests for it get 404.
      </ConfirmedButton>
    </p>
  );
}
