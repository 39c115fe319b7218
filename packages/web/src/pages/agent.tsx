import type { Agent as AgentData } from '@gatehouse/contract/agents';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { useAnswer } from '../api/use-answer.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { Choice, LongTextField, TextField } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { useView } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

type Draft = Pick<
  AgentData,
  'key' | 'name' | 'description' | 'model' | 'system_prompt' | 'status' | 'visibility'
>;

const nothing: Draft = {
  ...{ key: '', name: '', description: '', model: '', system_prompt: '' },
  ...{ status: 'active', visibility: 'tenant' },
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
  const changed = Object.entries(draft).filter(([name, value]) => agent[name as keyof Draft] !== value);
  return Object.fromEntries(changed);
}

function draftOf({ key, name, description, model, system_prompt, status, visibility }: AgentData): Draft {
  return { key, name, description, model, system_prompt, status, visibility };
}
