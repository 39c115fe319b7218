import type { MemoryCounts } from '@gatehouse/contract/memory';
import { useState } from 'preact/hooks';
import { count } from '../format/amounts.ts';
import { ActionForm } from './action-form.tsx';
import { DownloadButton } from './download-button.tsx';
import { FileField, TextField } from './fields.tsx';
import { FormButton } from './form-button.tsx';
import { useFields } from './use-fields.ts';

interface MemoryTransferProps {
  agentID: string;
  onDone: () => void;
}

const jsonLines = 'application/x-ndjson';

/** Buttons to export, import and forget the memory of an agent. */
export function MemoryTransfer({ agentID, onDone }: MemoryTransferProps) {
  const [note, setNote] = useState('');
  const done = (verb: string) => (counts: MemoryCounts) => {
    setNote(`${verb} ${countsText(counts)}.`);
    onDone();
  };
  return (
    <>
      <p class="actions">
        <DownloadButton
          label="Export"
          name="GET /v1/agents/{agentID}/memory/export"
          input={{ params: { agentID } }}
          file={`memory-${agentID}.jsonl`}
        />
        <FormButton label="Import">
          {(close) => <ImportForm agentID={agentID} onDone={both(close, done('Stored'))} />}
        </FormButton>
        <FormButton label="Forget">
          {(close) => <ForgetForm agentID={agentID} onDone={both(close, done('Removed'))} />}
        </FormButton>
      </p>
      <p role="status">{note}</p>
    </>
  );
}

interface MemoryFormProps {
  agentID: string;
  onDone: (counts: MemoryCounts) => void;
}

function ImportForm({ agentID, onDone }: MemoryFormProps) {
  const [file, setFile] = useState<File | null>(null);
  return (
    <ActionForm
      label="Import"
      name="POST /v1/agents/{agentID}/memory/import"
      input={() => ({
        params: { agentID },
        body: new Blob(file === null ? [] : [file], { type: jsonLines }),
      })}
      onDone={onDone}
      isIncomplete={file === null}
    >
      <FileField
        label="File"
        accept=".jsonl,.ndjson"
        onChange={setFile}
        hint={
          'JSON lines as an export has them, such as {"kind": "document", "path": "a.md", "text": "…"}. Documents of the same path are replaced; with a wrong line nothing is stored'
        }
      />
    </ActionForm>
  );
}

function ForgetForm({ agentID, onDone }: MemoryFormProps) {
  const { values, field } = useFields({ path_prefix: '', user_id: '', session_id: '', run_id: '' });
  const filled = Object.entries(values).filter(([, value]) => value !== '');
  return (
    <ActionForm
      label="Forget"
      name="POST /v1/agents/{agentID}/memory/forget"
      input={() => ({ params: { agentID }, body: Object.fromEntries(filled) })}
      onDone={onDone}
      isIncomplete={filled.length === 0}
    >
      <p>Documents, entities and relations that match all of these fields are removed for good.</p>
      <TextField label="Path prefix" {...field('path_prefix')} maxLength={512} />
      <TextField label="User" {...field('user_id')} maxLength={255} />
      <TextField label="Session" {...field('session_id')} maxLength={255} />
      <TextField label="Run ID" {...field('run_id')} />
    </ActionForm>
  );
}

function both(close: () => void, then: (counts: MemoryCounts) => void) {
  return (counts: MemoryCounts): void => {
    close();
    then(counts);
  };
}

function countsText({ documents, entities, relations }: MemoryCounts): string {
  return `${count(documents)} documents, ${count(entities)} entities and ${count(relations)} relations`;
}
