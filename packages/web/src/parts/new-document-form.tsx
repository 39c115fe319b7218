import { ActionForm } from './action-form.tsx';
import { LongTextField, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

interface NewDocumentFormProps {
  agentID: string;
  onCreated: (secret: null) => void;
}

/** Puts a document into the memory of an agent, in place of the one at its path. */
export function NewDocumentForm({ agentID, onCreated }: NewDocumentFormProps) {
  const { values, field } = useFields({ path: '', title: '', text: '' });
  const { path, title, text } = values;
  return (
    <ActionForm
      label="Store"
      name="PUT /v1/agents/{agentID}/memory/documents/{path+}"
      input={() => ({ params: { agentID, path }, body: { text, title: title === '' ? null : title } })}
      onDone={() => onCreated(null)}
      isIncomplete={path === ''}
    >
      <TextField
        label="Path"
        {...field('path')}
        isRequired
        maxLength={512}
        hint="For example policies/returns.md. A document that is there already is replaced."
      />
      <TextField label="Title" {...field('title')} maxLength={500} />
      <LongTextField label="Text" {...field('text')} rows={12} isRequired hint="Markdown, or plain" />
    </ActionForm>
  );
}
