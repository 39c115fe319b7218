import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { LongTextField, TextField } from './fields.tsx';

interface NewDocumentFormProps {
  agentID: string;
  onCreated: (secret: null) => void;
}

/** Puts a document into the memory of an agent, in place of the one at its path. */
export function NewDocumentForm({ agentID, onCreated }: NewDocumentFormProps) {
  const [path, setPath] = useState('');
  const [title, setTitle] = useState('');
  const [text, setText] = useState('');
  const put = useAction('PUT /v1/agents/{agentID}/memory/documents/{path+}');
  const submit = async (): Promise<void> => {
    const made = await put.run({
      params: { agentID, path },
      body: { text, title: title === '' ? null : title },
    });
    if (made !== null) onCreated(null);
  };
  return (
    <ActionForm label="Store" action={put} submit={submit} isIncomplete={path === ''}>
      <TextField
        label="Path"
        value={path}
        onChange={setPath}
        isRequired
        maxLength={512}
        hint="For example policies/returns.md. A document that is there already is replaced."
      />
      <TextField label="Title" value={title} onChange={setTitle} maxLength={500} />
      <LongTextField
        label="Text"
        value={text}
        onChange={setText}
        rows={12}
        isRequired
        hint="Markdown, or plain"
      />
    </ActionForm>
  );
}
