import type { WireToolset } from '@gatehouse/contract/toolsets';
import { ActionForm } from './action-form.tsx';
import { Choice, LinesField, LongTextField, TextField } from './fields.tsx';
import {
  newToolset,
  prefixes,
  toolsetBody,
  toolsetChanges,
  toolsetDraft,
  visibilities,
  type ToolsetDraft,
} from './toolset-draft.ts';
import { ServerTools } from './server-tools.tsx';
import { useFields } from './use-fields.ts';

/** Creates a toolset. */
export function NewToolsetForm({ onCreated }: { onCreated: () => void }) {
  const fields = useFields(newToolset);
  return (
    <ActionForm
      label="Create"
      name="POST /v1/toolsets"
      input={() => ({ body: toolsetBody(fields.values) })}
      onDone={onCreated}
    >
      <ToolsetFields fields={fields} />
    </ActionForm>
  );
}

/** Changes a toolset. */
export function ToolsetForm({ toolset, onDone }: { toolset: WireToolset; onDone: () => void }) {
  const before = toolsetDraft(toolset);
  const fields = useFields(() => before);
  return (
    <ActionForm
      label="Save"
      name="PATCH /v1/toolsets/{toolset}"
      input={() => ({ params: { toolset: toolset.id }, body: toolsetChanges(before, fields.values) })}
      onDone={onDone}
    >
      <ToolsetFields fields={fields} />
    </ActionForm>
  );
}

function ToolsetFields({
  fields: { field, values, set },
}: {
  fields: ReturnType<typeof useFields<ToolsetDraft>>;
}) {
  return (
    <>
      <TextField
        label="Name"
        {...field('name')}
        isRequired
        maxLength={64}
        hint="Lower case. Keys name it, and so do the addresses of programs."
      />
      <LongTextField
        label="Instructions"
        {...field('description')}
        rows={3}
        hint="For the models of programs: when to use these tools"
      />
      <ServerTools
        value={values.mcp_servers}
        onChange={(refs) => set({ mcp_servers: refs })}
        param="mcp_servers"
      />
      <LinesField label="Left out" {...field('deny')} hint="SERVER/TOOL, one per line" />
      <LinesField
        label="Agents"
        {...field('agents')}
        hint="One per line: the key of an agent as a tool; KEY/memory_search, KEY/kg_traverse or KEY/web_fetch for its tools"
      />
      <Choice label="Names of tools" {...field('prefix')} options={prefixes} />
      <Choice label="For" {...field('visibility')} options={visibilities} />
      <p class="note">
        All who may use it call a server with one login of the tenant by that login. A server with a login per
        user is called by each user’s own.
      </p>
    </>
  );
}
