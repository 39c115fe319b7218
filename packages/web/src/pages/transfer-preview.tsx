import type { TransferPreview as Preview } from '@gatehouse/contract/transfers';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { transferableTypes } from '../format/transferred.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { AddressToPaste } from '../parts/address-to-paste.tsx';
import { textColumn } from '../parts/columns.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { useView } from '../shell/location.tsx';
import { usePerson } from '../shell/session.tsx';
import type { PageProps } from './page.ts';

type Resource = Preview['resources'][number];

/** A transfer before it runs: its effect, its conflicts, and the button of each side. */
export function TransferPreview({ id }: PageProps) {
  const known = useAnswer('GET /v1/tenant/resource-transfers/previews/{id}', { params: { id } });
  return (
    <KnownAnswer known={known}>
      {(preview) => (
        <>
          <p>
            <Status state={preview.status} /> {preview.mode} from <code>{preview.source_tenant_id}</code> to{' '}
            <code>{preview.target_tenant_id}</code>, until <Time at={preview.expires_at} />
          </p>
          <DataTable
            caption="Resources"
            file={`transfer-${id}.csv`}
            columns={columns}
            rows={preview.resources}
            keyOf={(resource) => resource.id}
            empty="The transfer has no resource."
          />
          <Obstacles preview={preview} />
          {preview.status === 'open' ? <Steps preview={preview} onDone={known.reload} /> : null}
        </>
      )}
    </KnownAnswer>
  );
}

const columns: readonly DataColumn<Resource>[] = [
  textColumn('Resource', ({ name }) => name),
  textColumn('Type', ({ type }) => transferableTypes[type]),
  textColumn('Action', ({ action }) => action),
  textColumn('Name in the target', ({ target_name: name }) => name),
  textColumn('Secrets', ({ secrets }) => secrets),
  textColumn('Data', ({ counts }) =>
    Object.entries(counts)
      .map(([kind, number]) => `${count(number)} ${kind}`)
      .join(', '),
  ),
];

/** The reasons against a transfer, as far as they are known. */
function Obstacles({ preview: { dependencies, conflicts, problems } }: { preview: Preview }) {
  const texts = [
    ...dependencies
      .filter(({ included }) => !included)
      .map(({ name, needs }) => `${name} needs ${needs.name}, which is not part of the transfer.`),
    ...(conflicts ?? []).map(({ name, resolution }) => `The target has ${name} already: ${resolution}.`),
    ...(problems ?? []).map(({ message }) => message),
  ];
  if (texts.length === 0) return null;
  return (
    <ul class="notes">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Steps({ preview, onDone }: { preview: Preview; onDone: () => void }) {
  const { go } = useView();
  const { id, mode, accepted } = preview;
  const caller = useAnswer('GET /v1/whoami', {});
  const isOwner = usePerson().role === 'owner';
  const isTarget = caller.answer?.tenant_id === preview.target_tenant_id;
  return (
    <>
      {accepted || isTarget || isOwner ? null : (
        <AddressToPaste
          label="Give this address to an admin of the target, who accepts"
          url={location.href}
        />
      )}
      <p class="actions">
        {isTarget && !accepted ? (
          <ActionButton
            label="Accept"
            subject="the transfer"
            name="POST /v1/tenant/resource-transfers/previews/{id}/accept"
            input={{ params: { id } }}
            onDone={onDone}
          />
        ) : null}
        {accepted && (isOwner || !isTarget) ? (
          <ConfirmedButton
            label={mode === 'move' ? 'Move' : 'Copy'}
            subject="the resources"
            name="POST /v1/tenant/resource-transfers"
            input={{ body: { preview_id: id } }}
            onDone={() => go('/app/transfers')}
            {...(mode === 'copy' && { isSafe: true })}
          >
            {mode === 'move'
              ? 'They leave the source. Meanwhile they can’t be changed, and requests for them are refused for a moment.'
              : 'The copies have new IDs. Meanwhile the resources can’t be changed.'}
          </ConfirmedButton>
        ) : null}
        <button type="button" onClick={onDone}>
          Reload
        </button>
      </p>
    </>
  );
}
