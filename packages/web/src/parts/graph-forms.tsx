import { textOrNull } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { LongTextField, TextField } from './fields.tsx';
import { FormButton } from './form-button.tsx';
import { useFields } from './use-fields.ts';

interface GraphFormProps {
  agentID: string;
  onDone: () => void;
}

/** Buttons to fill the knowledge graph of an agent. */
export function GraphForms({ agentID, onDone }: GraphFormProps) {
  return (
    <p class="actions">
      <FormButton label="Add an entity" onDone={onDone}>
        {(done) => <EntityForm agentID={agentID} onDone={done} />}
      </FormButton>
      <FormButton label="Add a relation" onDone={onDone}>
        {(done) => <RelationForm agentID={agentID} onDone={done} />}
      </FormButton>
      <FormButton label="Extract from a text" onDone={onDone}>
        {(done) => <ExtractForm agentID={agentID} onDone={done} />}
      </FormButton>
    </p>
  );
}

function EntityForm({ agentID, onDone }: GraphFormProps) {
  const { values, field } = useFields({ name: '', type: '', external_id: '', description: '' });
  const { name, type, external_id, description } = values;
  const entity = { name, type, external_id: textOrNull(external_id), description: textOrNull(description) };
  return (
    <ActionForm
      label="Add"
      name="POST /v1/agents/{agentID}/kg/entities"
      input={() => ({ params: { agentID }, body: { entities: [entity] } })}
      onDone={onDone}
    >
      <TextField label="Name" {...field('name')} param="entities[0].name" isRequired maxLength={255} />
      <TextField
        label="Type"
        {...field('type')}
        param="entities[0].type"
        isRequired
        maxLength={100}
        hint="Such as person. An entity with the same name and type is changed"
      />
      <TextField
        label="External ID"
        {...field('external_id')}
        param="entities[0].external_id"
        maxLength={255}
        hint="The ID in your own system"
      />
      <LongTextField label="Description" {...field('description')} param="entities[0].description" rows={3} />
    </ActionForm>
  );
}

function RelationForm({ agentID, onDone }: GraphFormProps) {
  const { values, field } = useFields({ source: '', type: '', target: '' });
  return (
    <ActionForm
      label="Add"
      name="POST /v1/agents/{agentID}/kg/relations"
      input={() => ({ params: { agentID }, body: { relations: [values] } })}
      onDone={onDone}
    >
      <TextField
        label="From"
        {...field('source')}
        param="relations[0].source"
        isRequired
        maxLength={255}
        hint="ID or external ID of an entity"
      />
      <TextField
        label="Relation"
        {...field('type')}
        param="relations[0].type"
        isRequired
        maxLength={100}
        hint="Such as works_at"
      />
      <TextField
        label="To"
        {...field('target')}
        param="relations[0].target"
        isRequired
        maxLength={255}
        hint="ID or external ID of an entity"
      />
    </ActionForm>
  );
}

function ExtractForm({ agentID, onDone }: GraphFormProps) {
  const { values, field } = useFields({ text: '' });
  return (
    <ActionForm
      label="Extract"
      name="POST /v1/agents/{agentID}/kg/extract"
      input={() => ({ params: { agentID }, body: values })}
      onDone={onDone}
    >
      <LongTextField
        label="Text"
        {...field('text')}
        rows={12}
        isRequired
        hint="A model finds entities and relations in it, at its usual cost, and stores them"
      />
    </ActionForm>
  );
}
