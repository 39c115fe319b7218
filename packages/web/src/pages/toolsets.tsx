import type { WireToolset } from '@gatehouse/contract/toolsets';
import { ActionButton } from '../parts/action-button.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TextLines } from '../parts/text-lines.tsx';
import { visibilities } from '../parts/toolset-draft.ts';
import { NewToolsetForm, ToolsetForm } from '../parts/toolset-form.tsx';
import { ToolsetTools } from '../parts/toolset-tools.tsx';

/** Tools for programs. */
export function Toolsets() {
  return (
    <Creation
      label="Create a toolset"
      title="Create a toolset"
      form={(onCreated) => <NewToolsetForm onCreated={() => onCreated(null)} />}
    >
      {(_show, round) => (
        <ResourceList
          key={round}
          name="GET /v1/toolsets"
          input={{}}
          caption="Toolsets"
          columns={columnsOf}
          keyOf={({ id }) => id}
          empty="There is no toolset yet. Create one to name the tools that programs may call."
        />
      )}
    </Creation>
  );
}

function columnsOf(reload: () => void): Column<WireToolset>[] {
  return [
    {
      header: 'Name',
      cell: ({ name, enabled }) => (
        <>
          {name} {enabled ? null : <Status state="disabled" />}
        </>
      ),
    },
    { header: 'For', cell: ({ visibility }) => visibilities[visibility] },
    { header: 'MCP servers', cell: ({ mcp_servers: refs }) => <TextLines texts={refs} /> },
    { header: 'Left out', cell: ({ deny }) => <TextLines texts={deny} /> },
    { header: 'Agents', cell: ({ agents }) => <TextLines texts={agents} /> },
    { header: 'Missing', cell: ({ missing }) => <TextLines texts={missing} /> },
    { header: 'Actions', cell: (toolset) => <ToolsetButtons toolset={toolset} onDone={reload} /> },
  ];
}

function ToolsetButtons({ toolset, onDone }: { toolset: WireToolset; onDone: () => void }) {
  const { id, name, enabled } = toolset;
  return (
    <span class="actions">
      <ToolsetTools toolset={toolset} />
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <ToolsetForm toolset={toolset} onDone={done} />}
      </FormButton>
      <ActionButton
        label={enabled ? 'Disable' : 'Enable'}
        subject={name}
        name="PATCH /v1/toolsets/{toolset}"
        input={{ params: { toolset: id }, body: { enabled: !enabled } }}
        onDone={onDone}
      />
      <ConfirmedButton
        label="Delete"
        subject={name}
        name="DELETE /v1/toolsets/{toolset}"
        input={{ params: { toolset: id } }}
        onDone={onDone}
      >
        Programs lose its tools. Servers and agents stay.
      </ConfirmedButton>
    </span>
  );
}
