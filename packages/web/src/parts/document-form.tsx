import type { DocumentWithText } from '@gatehouse/contract/memory';
import { useAnswer } from '../api/use-answer.ts';
import { textOrNull } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { LongTextField, TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { useFields } from './use-fields.ts';

interface DocumentFormProps {
  agentID: string;
  /** Null for a new one. */
  document: DocumentWithText | null;
  onDone: () => void;
}

/** Puts a document into the memory of an agent, in place of the one at its path. */
export function DocumentForm({ agentID, document, onDone }: DocumentFormProps) {
  const { values, field } = useFields({
    path: document?.path ?? '',
    title: document?.title ?? '',
    text: document?.text ?? '',
  });
  const { path, title, text } = values;
  const unchanged = document === null ? {} : { metadata: document.metadata };
  return (
    <ActionForm
      label="Store"
      name="PUT /v1/agents/{agentID}/memory/documents/{path+}"
      input={() => ({ params: { agentID, path }, body: { text, title: textOrNull(title), ...unchanged } })}
      onDone={onDone}
      isIncomplete={path === ''}
    >
      {document === null ? (
        <TextField
          label="Path"
          {...field('path')}
          isRequired
          maxLength={512}
          hint="For example policies/returns.md. A document that is there already is replaced."
        />
      ) : null}
      <TextField label="Title" {...field('title')} maxLength={500} />
      <LongTextField label="Text" {...field('text')} rows={12} isRequired hint="Markdown, or plain" />
    </ActionForm>
  );
}

/** Shows a document with its text, to read and to change. */
export function StoredDocument({
  agentID,
  path,
  onDone,
}: {
  agentID: string;
  path: string;
  onDone: () => void;
}) {
  const known = useAnswer('GET /v1/agents/{agentID}/memory/documents/{path+}', { params: { agentID, path } });
  return (
    <KnownAnswer known={known}>
      {(document) => <DocumentForm {...{ agentID, document, onDone }} />}
    </KnownAnswer>
  );
}
