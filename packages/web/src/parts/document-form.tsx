import type { Document, DocumentWithText } from '@gatehouse/contract/memory';
import type { ComponentChildren } from 'preact';
import { useAnswer } from '../api/use-answer.ts';
import { textOrNull } from '../format/changes.ts';
import { writtenScope } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { LongTextField, TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { TextBlock } from './text-block.tsx';
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
  const scope = writtenScope(usePerson());
  const unchanged = document === null ? {} : { metadata: document.metadata };
  return (
    <ActionForm
      label="Store"
      name="PUT /v1/agents/{agentID}/memory/documents/{path+}"
      input={() => ({
        params: { agentID, path },
        body: { text, title: textOrNull(title), ...(scope !== null && { scope }), ...unchanged },
      })}
      onDone={onDone}
      isIncomplete={path === ''}
    >
      {document === null ? (
        <TextField
          label="Path"
          {...field('path')}
          isRequired
          maxLength={512}
          hint={
            scope === 'user'
              ? 'For example notes/trips.md. The agent finds it only for you. A document of yours with this path is replaced.'
              : 'For example policies/returns.md. A document that is there already is replaced.'
          }
        />
      ) : null}
      <TextField label="Title" {...field('title')} maxLength={500} />
      <LongTextField label="Text" {...field('text')} rows={12} isRequired hint="Markdown, or plain" />
    </ActionForm>
  );
}

interface StoredDocumentProps {
  agentID: string;
  listed: Pick<Document, 'id' | 'path'>;
  onDone: () => void;
}

/** Shows a document with its text, to read and, where the person may, to change. */
export function StoredDocument({ agentID, listed: { id, path }, onDone }: StoredDocumentProps) {
  const known = useAnswer('GET /v1/agents/{agentID}/memory/documents/{path+}', { params: { agentID, path } });
  const scope = writtenScope(usePerson());
  return (
    <KnownAnswer known={known}>
      {(document) => {
        // The API returns the person's own before the agent's, as the agent reads them.
        if (document.id !== id && document.scope === 'user')
          return (
            <p class="note">
              The agent does not read this document for you: you have one of your own at this path, in the
              list as well.
            </p>
          );
        if (document.scope === scope) return <DocumentForm {...{ agentID, document, onDone }} />;
        return (
          <>
            <p class="note">{neededTo[document.scope]}</p>
            <TextBlock label={document.title ?? path} text={document.text} />
          </>
        );
      }}
    </KnownAnswer>
  );
}

/** The rights to change a document. */
const neededTo: Record<Document['scope'], ComponentChildren> = {
  agent: (
    <>
      It belongs to the agent. To change it, log in with the scope <code>agents.write</code> and without a
      user.
    </>
  ),
  user: (
    <>
      It is yours. To change it, log in with the scope <code>memory.write</code>.
    </>
  ),
};
