import type { Agent as AgentData } from '@gatehouse/contract/agents';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { useAnswer } from '../api/use-answer.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { AgentMemoryFields, AgentToolsFields } from '../parts/agent-tools-fields.tsx';
import { Choice, LongTextField, TextField } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
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
  memory: { enabled: false, recall_limit: 5, min_score: 0.35, write: false, analyser: 'english' },
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
            <a class="button" href={`/app/traces?agent_id=${agent.id}`}>
              Its runs
            </a>
            <a class="button" href={`/app/memory/${agent.id}`}>
              Its memory
            </a>
            <a class="button" href={`/app/graph/${agent.id}`}>
              Its graph
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
  const [draft, setDraft] = useState<Draft>(() => (agent === null ? nothing : draftOf(agent)));
  const create = useAction('POST /v1/agents');
  const patch = useAction('PATCH /v1/agents/{agentID}');
  const set = (change: Partial<Draft>): void => setDraft((last) => ({ ...last, ...change }));
  const save = async (): Promise<void> => {
    if (agent === null) {
      const { name, ...fields } = draft;
      const made = await create.run({ body: { ...fields, ...(name !== '' && { name }) } });
      if (made !== null) go(`/app/agents/${made.id}`);
      return;
    }
    const saved = await patch.run({ params: { agentID: agent.id }, body: changesOf(agent, draft) });
    if (saved !== null) onSaved();
  };
  return (
    <ActionForm
      label={agent === null ? 'Create' : 'Save'}
      action={agent === null ? create : patch}
      submit={save}
    >
      <TextField
        label="Key"
        value={draft.key}
        onChange={(key) => set({ key })}
        isRequired
        hint="Programs name it as the model agent:KEY"
      />
      <TextField label="Name" value={draft.name} onChange={(name) => set({ name })} />
      <TextField
        label="Description"
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      <KnownAnswer known={models}>
        {({ data }) => (
          <Choice
            label="Model"
            value={draft.model}
            onChange={(model) => set({ model })}
            options={modelOptions(
              data.map(({ id }) => id),
              draft.model,
            )}
          />
        )}
      </KnownAnswer>
      <LongTextField
        label="System prompt"
        rows={12}
        value={draft.system_prompt}
        onChange={(prompt) => set({ system_prompt: prompt })}
      />
      <Choice
        label="Status"
        value={draft.status}
        onChange={(status) => set({ status: status === 'disabled' ? status : 'active' })}
        options={{ active: 'active', disabled: 'disabled' }}
      />
      <AgentToolsFields
        value={draft.tools}
        onChange={(change) => set({ tools: { ...draft.tools, ...change } })}
      />
      <AgentMemoryFields
        value={draft.memory}
        onChange={(change) => set({ memory: { ...draft.memory, ...change } })}
      />
    </ActionForm>
  );
}

/** The models of the catalogue and the chosen one, which may have left it. */
function modelOptions(models: readonly string[], chosen: string): Record<string, string> {
  const offered = models.filter((id) => !id.startsWith('agent:'));
  const all = new Set([chosen, ...offered]);
  return Object.fromEntries([...all].map((id) => [id, id === '' ? 'choose one' : id]));
}

/** The members that differ: others may have changed meanwhile. */
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
