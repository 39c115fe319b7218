import type { Agent } from '@gatehouse/contract/agents';
import { useAnswer } from '../api/use-answer.ts';
import { useView } from '../shell/location.tsx';
import { ActionForm } from './action-form.tsx';
import {
  agentChanges,
  agentDraft,
  hasParameters,
  newAgent,
  newAgentBody,
  type AgentDraft,
} from './agent-draft.ts';
import { AgentMemoryFields, AgentToolsFields } from './agent-tools-fields.tsx';
import { Choice, LinesField, LongTextField, TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { useFields } from './use-fields.ts';

const visibilities = { tenant: 'Everyone in the tenant', private: 'Its owner alone' };

type Fields = ReturnType<typeof useFields<AgentDraft>>;

interface AgentFormProps {
  /** Null for a new one. */
  agent: Agent | null;
  onSaved: () => void;
}

/** The settings of an agent. */
export function AgentForm({ agent, onSaved }: AgentFormProps) {
  const { go } = useView();
  const before = agent === null ? newAgent : agentDraft(agent);
  const fields = useFields<AgentDraft>(before);
  const { values } = fields;
  const isIncomplete = values.model === '' || !hasParameters(values);
  if (agent === null)
    return (
      <ActionForm
        label="Create"
        name="POST /v1/agents"
        input={() => ({ body: newAgentBody(values) })}
        onDone={({ id }) => go(`/app/agents/${id}`)}
        isIncomplete={isIncomplete}
      >
        <AgentFields fields={fields} />
      </ActionForm>
    );
  return (
    <ActionForm
      label="Save"
      name="PATCH /v1/agents/{agentID}"
      input={() => ({ params: { agentID: agent.id }, body: agentChanges(before, values) })}
      onDone={onSaved}
      isIncomplete={isIncomplete}
    >
      <AgentFields fields={fields} />
    </ActionForm>
  );
}

function AgentFields({ fields }: { fields: Fields }) {
  const { values, set, field } = fields;
  const { tools, memory } = values;
  return (
    <>
      <TextField label="Key" {...field('key')} isRequired hint="Clients use it as the model agent:KEY" />
      <TextField label="Name" {...field('name')} />
      <TextField label="Description" {...field('description')} maxLength={5_000} />
      <LongTextField label="System prompt" rows={10} {...field('system_prompt')} />
      <h2>Model</h2>
      <ModelFields fields={fields} />
      <h2>Tools</h2>
      <AgentToolsFields value={tools} onChange={(change) => set({ tools: { ...tools, ...change } })} />
      <h2>Memory</h2>
      <AgentMemoryFields value={memory} onChange={(change) => set({ memory: { ...memory, ...change } })} />
      <h2>Access</h2>
      <Choice label="Status" {...field('status')} options={{ active: 'active', disabled: 'disabled' }} />
      <Choice label="Visibility" {...field('visibility')} options={visibilities} />
      {values.visibility === 'private' ? (
        <TextField label="Owner" {...field('owner_user_id')} maxLength={255} hint="Empty: yourself" />
      ) : null}
    </>
  );
}

function ModelFields({ fields: { values, field } }: { fields: Fields }) {
  const models = useAnswer('GET /v1/models', {});
  const isParsed = hasParameters(values);
  return (
    <>
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
      <LinesField
        label="Fallbacks"
        {...field('model_fallbacks')}
        hint="Models to try when it fails, one per line, in this order"
      />
      <TextField
        label="Temperature"
        {...field('temperature')}
        param="parameters.temperature"
        isNumber="decimal"
        hint="From 0 to 2. Empty: the default of the model"
      />
      <TextField label="Max tokens" {...field('max_tokens')} param="parameters.max_tokens" isNumber="whole" />
      <LongTextField
        label="Other parameters"
        {...field('parameters')}
        rows={4}
        hint={
          isParsed
            ? 'Fields of chat completions as JSON, such as {"top_p": 0.9}'
            : 'This is no JSON object yet, such as {"top_p": 0.9}'
        }
      />
    </>
  );
}

/** The models of the catalogue and the chosen one, which may have left it. */
function modelOptions(models: readonly string[], chosen: string): Record<string, string> {
  const offered = models.filter((id) => !id.startsWith('agent:'));
  const all = new Set([chosen, ...offered]);
  return Object.fromEntries([...all].map((id) => [id, id === '' ? 'Choose a model' : id]));
}
