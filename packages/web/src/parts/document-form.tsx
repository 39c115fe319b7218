import type { DocumentWithText } from '@gatehouse/contract/memory';
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

/** Shows a document with its text, to read and, where the person may, to change. */
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
  const scope = writtenScope(usePerson());
  return (
    <KnownAnswer known={known}>
      {(document) =>
        document.scope === scope ? (
          <DocumentForm {...{ agentID, document, onDone }} />
        ) : (
          <>
            <p class="note">
              It belongs to the agent. To change it, log in with the scope <code>agents.write</code> and
              without a user.
            </p>
            <TextBlock label={document.title ?? path} text={document.text} />
          </>
        )
      }
    </KnownAnswer>
  );
}
