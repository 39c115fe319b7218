import type { batch } from '@gatehouse/contract/batches';
import type { file } from '@gatehouse/contract/files';
import type { messageBatch } from '@gatehouse/contract/message-batches';
import { useState } from 'preact/hooks';
import type { z } from 'zod';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { unixTime } from '../format/times.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { figureColumn, textColumn, timeColumn } from '../parts/columns.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { DownloadButton } from '../parts/download-button.tsx';
import { Choice, FileField } from '../parts/fields.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Section } from '../parts/section.tsx';
import { Status } from '../parts/status.tsx';

type Batch = z.output<typeof batch>;
type BatchFile = z.output<typeof file>;
type MessageBatch = z.output<typeof messageBatch>;

const newest = { query: { limit: '100' } };

/** Batches of requests, and the files with their requests and results. */
export function Batches() {
  const files = useAnswer('GET /v1/files', newest);
  const batches = useAnswer('GET /v1/batches', newest);
  const messages = useAnswer('GET /v1/messages/batches', newest);
  const reload = (): void => {
    for (const known of [files, batches, messages]) known.reload();
  };
  return (
    <>
      <ReloadedAnswer known={{ ...batches, reload }}>
        {({ data, has_more: hasMore }) => (
          <>
            <DataTable
              caption="Batches"
              file="batches.csv"
              columns={batchColumns(reload)}
              rows={data}
              keyOf={({ id }) => id}
              empty="No batch has been started. Upload a file of requests below, and start one at half of the price."
            />
            <MoreNote hasMore={hasMore} />
          </>
        )}
      </ReloadedAnswer>
      <Section title="Files">
        <Upload onDone={reload} />
        <KnownAnswer known={files}>
          {({ data, has_more: hasMore }) => (
            <>
              <DataTable
                caption="Files"
                file="files.csv"
                columns={fileColumns(reload)}
                rows={data}
                keyOf={({ id }) => id}
                parameter="files_sort"
                empty="No file has been uploaded. Each line is a request of chat completions, responses or embeddings."
              />
              <MoreNote hasMore={hasMore} />
            </>
          )}
        </KnownAnswer>
      </Section>
      <Section title="Batches of messages">
        <KnownAnswer known={messages}>
          {({ data, has_more: hasMore }) => (
            <>
              <DataTable
                caption="Batches of messages"
                file="message-batches.csv"
                columns={messageColumns(reload)}
                rows={data}
                keyOf={({ id }) => id}
                parameter="messages_sort"
                empty="No batch of messages. Programs start them with the Anthropic SDK."
              />
              <MoreNote hasMore={hasMore} />
            </>
          )}
        </KnownAnswer>
      </Section>
    </>
  );
}

function MoreNote({ hasMore }: { hasMore: boolean }) {
  return hasMore ? <p>The newest 100 are shown; the API has all.</p> : null;
}

const ended = new Set(['completed', 'failed', 'expired', 'cancelled', 'cancelling', 'ended', 'canceling']);

function batchColumns(reload: () => void): DataColumn<Batch>[] {
  return [
    textColumn('Batch', ({ id }) => id),
    stateColumn(({ status }) => status),
    textColumn('Endpoint', ({ endpoint }) => endpoint),
    timeColumn('Created', ({ created_at: at }) => unixTime(at)),
    {
      header: 'Actions',
      value: null,
      cell: ({ id, status, output_file_id: output, error_file_id: errors }) => (
        <span class="actions">
          {typeof output === 'string' ? <FileButton label="Results" subject={id} id={output} /> : null}
          {typeof errors === 'string' ? <FileButton label="Errors" subject={id} id={errors} /> : null}
          {ended.has(status) ? null : (
            <ConfirmedButton
              label="Cancel"
              subject={id}
              name="POST /v1/batches/{batch_id}/cancel"
              input={{ params: { batch_id: id } }}
              onDone={reload}
            >
              Requests that have a response by then are charged.
            </ConfirmedButton>
          )}
        </span>
      ),
    },
  ];
}

function fileColumns(reload: () => void): DataColumn<BatchFile>[] {
  return [
    textColumn('Name', ({ filename }) => filename),
    textColumn('Purpose', ({ purpose }) => purpose),
    figureColumn('Bytes', ({ bytes }) => bytes),
    timeColumn('Created', ({ created_at: at }) => unixTime(at)),
    timeColumn('Expires', ({ expires_at: at }) => (typeof at === 'number' ? unixTime(at) : null), 'never'),
    {
      header: 'Actions',
      value: null,
      cell: ({ id, filename, purpose }) => (
        <span class="actions">
          {purpose === 'batch' ? (
            <FormButton label="Start a batch" subject={`of ${filename}`} onDone={reload}>
              {(done) => <StartForm fileID={id} onDone={done} />}
            </FormButton>
          ) : null}
          <FileButton label="Download" subject={filename} id={id} />
          <ConfirmedButton
            label="Delete"
            subject={filename}
            name="DELETE /v1/files/{file_id}"
            input={{ params: { file_id: id } }}
            onDone={reload}
          >
            The file of the provider is deleted soon afterwards.
          </ConfirmedButton>
        </span>
      ),
    },
  ];
}

function messageColumns(reload: () => void): DataColumn<MessageBatch>[] {
  return [
    textColumn('Batch', ({ id }) => id),
    stateColumn(({ processing_status: status }) => status),
    textColumn('Requests', ({ request_counts: { processing, succeeded, errored, canceled, expired } }) =>
      [`${count(processing)} processing`, `${count(succeeded)} succeeded`]
        .concat(errored + canceled + expired > 0 ? [`${count(errored)} errors`] : [])
        .join(', '),
    ),
    timeColumn('Created', ({ created_at: at }) => at),
    {
      header: 'Actions',
      value: null,
      cell: ({ id, processing_status: status, results_url: results }) => (
        <span class="actions">
          {results === null ? null : (
            <DownloadButton
              label="Results"
              subject={`of ${id}`}
              name="GET /v1/messages/batches/{message_batch_id}/results"
              input={{ params: { message_batch_id: id } }}
              file={`${id}.jsonl`}
            />
          )}
          {status === 'ended' ? (
            <ConfirmedButton
              label="Delete"
              subject={id}
              name="DELETE /v1/messages/batches/{message_batch_id}"
              input={{ params: { message_batch_id: id } }}
              onDone={reload}
            >
              The batch and its results are deleted, at the provider too.
            </ConfirmedButton>
          ) : (
            <ConfirmedButton
              label="Cancel"
              subject={id}
              name="POST /v1/messages/batches/{message_batch_id}/cancel"
              input={{ params: { message_batch_id: id } }}
              onDone={reload}
            >
              Requests that have a response by then are charged.
            </ConfirmedButton>
          )}
        </span>
      ),
    },
  ];
}

function stateColumn<Row>(stateOf: (row: Row) => string): DataColumn<Row> {
  return { ...textColumn('Status', stateOf), cell: (row) => <Status state={stateOf(row)} /> };
}

function FileButton({ label, subject, id }: { label: string; subject: string; id: string }) {
  return (
    <DownloadButton
      label={label}
      subject={`of ${subject}`}
      name="GET /v1/files/{file_id}/content"
      input={{ params: { file_id: id } }}
      file={`${id}.jsonl`}
    />
  );
}

function Upload({ onDone }: { onDone: () => void }) {
  return (
    <p class="actions">
      <FormButton label="Upload a file" onDone={onDone}>
        {(done) => <UploadForm onDone={done} />}
      </FormButton>
    </p>
  );
}

function UploadForm({ onDone }: { onDone: () => void }) {
  const [chosen, setChosen] = useState<File | null>(null);
  const input = () => {
    const form = new FormData();
    form.append('purpose', 'batch');
    if (chosen !== null) form.append('file', chosen);
    return { body: form };
  };
  return (
    <ActionForm
      label="Upload"
      name="POST /v1/files"
      input={input}
      onDone={onDone}
      isIncomplete={chosen === null}
    >
      <FileField
        label="File"
        accept=".jsonl"
        onChange={setChosen}
        param="file"
        hint="JSON lines, each with custom_id, method, url and body. All lines have the same model"
      />
    </ActionForm>
  );
}

const endpoints = {
  '/v1/chat/completions': 'Chat completions',
  '/v1/responses': 'Responses',
  '/v1/embeddings': 'Embeddings',
};

function StartForm({ fileID, onDone }: { fileID: string; onDone: () => void }) {
  const [endpoint, setEndpoint] = useState<keyof typeof endpoints>('/v1/chat/completions');
  const body = { input_file_id: fileID, endpoint, completion_window: '24h' };
  return (
    <ActionForm label="Start" name="POST /v1/batches" input={() => ({ body })} onDone={onDone}>
      <Choice
        label="Endpoint"
        value={endpoint}
        onChange={setEndpoint}
        options={endpoints}
        param="endpoint"
        hint="The url of the lines. The highest cost is held from budgets until the batch has ended"
      />
    </ActionForm>
  );
}
