import type { Agent as AgentData } from '@gatehouse/contract/agents';
import { useAnswer } from '../api/use-answer.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { AgentMemoryFields, AgentToolsFields } from '../parts/agent-tools-fields.tsx';
import { Choice, LongTextField, TextField } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { useFields } from '../parts/use-fields.ts';
import { useView } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

type Draft = Pick<
  AgentData,
  'key' | 'name' | 'description' | 'model' | 'system_prompt' | 'status' | 'visibility' | 'tools' | 'memory'
>;

const nothing: Draft = {
  ...{ key: '', name: '', description: '', model: '', system_prompt: '' },
  ...{ status: 'active', visibility: 'tenant' },
  tools: { mcp_servers: [], builtin: [], web_hosts: [], max_iterations: 10, max_cost_usd: null },
  memory: { enabled: false, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
};

/** One agent to edit, or a new one. */
export function Agent({ id }: PageProps) {
  const isNew = id === 'new';
  const known = useAnswer('GET /v1/agents/{agentID}', isNew ? null : { params: { agentID: id } });
  if (isNew) return <AgentForm agent={null} onSaved={() => {}} />;
  return (
    <KnownAnswer known={known}>
      {(agent) => (
        <>
          <p class="actions">
            <a class="button" href={`/app/playground?model=agent:${agent.key}`}>
              Try it
            </a>
            <a class="button" href={`/app/traces?period=7d&agent_id=${agent.id}`}>
              Traces
            </a>
            <a class="button" href={`/app/memory/${agent.id}`}>
              Memory
            </a>
            <a class="button" href={`/app/graph/${agent.id}`}>
              Knowledge graph
            </a>
          </p>
          <AgentForm key={agent.updated_at} agent={agent} onSaved={known.reload} />
        </>
      )}
    </KnownAnswer>
  );
}

interface AgentFormProps {
  /** Null for a new one. */
  agent: AgentData | null;
  onSaved: () => void;
}

function AgentForm({ agent, onSaved }: AgentFormProps) {
  const { go } = useView();
  const models = useAnswer('GET /v1/models', {});
  const { values, set, field } = useFields<Draft>(() => (agent === null ? nothing : draftOf(agent)));
  const { name, tools, memory, ...others } = values;
  const fields = (
    <>
      <TextField label="Key" {...field('key')} isRequired hint="Clients use it as the model agent:KEY" />
      <TextField label="Name" {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <KnownAnswer known={models}>
        {({ data }) => (
          <Choice
            label="Model"
            {...field('model')}
            options={modelOptions(
              data.map(({ id }) => id),
              values.model,
            )}
          />
        )}
      </KnownAnswer>
      <LongTextField label="System prompt" rows={12} {...field('system_prompt')} />
      <Choice label="Status" {...field('status')} options={{ active: 'active', disabled: 'disabled' }} />
      <AgentToolsFields value={tools} onChange={(change) => set({ tools: { ...tools, ...change } })} />
      <AgentMemoryFields value={memory} onChange={(change) => set({ memory: { ...memory, ...change } })} />
    </>
  );
  if (agent === null)
    return (
      <ActionForm
        label="Create"
        name="POST /v1/agents"
        input={() => ({ body: { ...others, tools, memory, ...(name !== '' && { name }) } })}
        onDone={({ id }) => go(`/app/agents/${id}`)}
      >
        {fields}
      </ActionForm>
    );
  return (
    <ActionForm
      label="Save"
      name="PATCH /v1/agents/{agentID}"
      input={() => ({ params: { agentID: agent.id }, body: changesOf(agent, values) })}
      onDone={onSaved}
    >
      {fields}
    </ActionForm>
  );
}

/** The models of the catalogue and the chosen one, which may have left it. */
function modelOptions(models: readonly string[], chosen: string): Record<string, string> {
  const offered = models.filter((id) => !id.startsWith('agent:'));
  const all = new Set([chosen, ...offered]);
  return Object.fromEntries([...all].map((id) => [id, id === '' ? 'Choose a model' : id]));
}

/** The differing members: others may have changed meanwhile. */
function changesOf(agent: AgentData, draft: Draft): Partial<Draft> {
  const changed = Object.entries(draft).filter(
    ([name, value]) => JSON.stringify(agent[name as keyof Draft]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed);
}

function draftOf(agent: AgentData): Draft {
  const { key, name, description, model, system_prompt, status, visibility, tools, memory } = agent;
  return { key, name, description, model, system_prompt, status, visibility, tools, memory };
}
