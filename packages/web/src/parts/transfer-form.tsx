import type { TransferMode, TransferPreview } from '@gatehouse/contract/transfers';
import type { ComponentChildren } from 'preact';
import { useAnswer } from '../api/use-answer.ts';
import { useNames } from '../api/use-names.ts';
import { resourcesIn, resourceText, transferableTypes, type ResourceText } from '../format/transferred.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, LinesField, TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { useFields } from './use-fields.ts';

const modes: Record<TransferMode, string> = { copy: 'Copy', move: 'Move' };
const conflicts: Record<TransferPreview['on_conflict'], string> = {
  fail: 'Refuse the transfer',
  rename: 'Give it another name',
  skip: 'Leave it out',
};
const contents = [
  ['memory', 'Memory'],
  ['knowledge_graph', 'Knowledge graph'],
] as const;
type Content = (typeof contents)[number][0];

interface Draft {
  mode: TransferMode;
  source_tenant_id: string;
  target_tenant_id: string;
  resources: readonly ResourceText[];
  include: readonly Content[];
  on_conflict: TransferPreview['on_conflict'];
}

interface TransferFormProps {
  onCreated: (preview: TransferPreview) => void;
}

/** Plans a transfer out of the own tenant. */
export function TransferForm({ onCreated }: TransferFormProps) {
  const known = useAnswer('GET /v1/whoami', {});
  return (
    <KnownAnswer known={known}>
      {({ tenant_id: tenant }) => (
        <PlanForm source={tenant ?? ''} onCreated={onCreated}>
          {({ field }) => (
            <>
              <OwnResources {...field('resources')} />
              <TextField
                label="Target tenant"
                {...field('target_tenant_id')}
                isRequired
                hint={`The ID of a tenant, whose admin then accepts. Yours is ${tenant ?? 'none'}`}
              />
            </>
          )}
        </PlanForm>
      )}
    </KnownAnswer>
  );
}

/** Plans a transfer between any two tenants, as an owner. */
export function OwnerTransferForm({ onCreated }: TransferFormProps) {
  const tenants = { '': 'Choose a tenant', ...Object.fromEntries(useNames('tenant')) };
  const types = Object.keys(transferableTypes).join(', ');
  return (
    <PlanForm source="" onCreated={onCreated}>
      {({ field }) => (
        <>
          <Choice label="From" {...field('source_tenant_id')} options={tenants} />
          <Choice label="To" {...field('target_tenant_id')} options={tenants} />
          <LinesField
            label="Resources"
            {...field('resources')}
            rows={5}
            hint={`One per line, as TYPE ID. The types are ${types}`}
          />
        </>
      )}
    </PlanForm>
  );
}

interface PlanFormProps extends TransferFormProps {
  source: string;
  children: (fields: ReturnType<typeof useFields<Draft>>) => ComponentChildren;
}

function PlanForm({ source, onCreated, children }: PlanFormProps) {
  const fields = useFields<Draft>({
    ...{ mode: 'copy', source_tenant_id: source, target_tenant_id: '', resources: [] },
    ...{ include: ['memory', 'knowledge_graph'], on_conflict: 'fail' },
  });
  const { values, field } = fields;
  const resources = resourcesIn(values.resources);
  const include = {
    memory: values.include.includes('memory'),
    knowledge_graph: values.include.includes('knowledge_graph'),
  };
  return (
    <ActionForm
      label="Preview"
      name="POST /v1/tenant/resource-transfers/previews"
      input={() => ({ body: { ...values, resources, include } })}
      onDone={onCreated}
      isIncomplete={
        resources.length === 0 || values.target_tenant_id === '' || values.source_tenant_id === ''
      }
    >
      <Choice label="Mode" {...field('mode')} options={modes} />
      {children(fields)}
      <Checks legend="With agents go" options={contents} {...field('include')} />
      <Choice
        label="When the target has the name"
        {...field('on_conflict')}
        options={conflicts}
        hint="Keys of agents and names of MCP servers"
      />
    </ActionForm>
  );
}

interface OwnResourcesProps {
  value: readonly ResourceText[];
  onChange: (texts: readonly ResourceText[]) => void;
  param: string;
}

const firstPage = { query: { limit: '100' } };

/** The resources of the tenant as far as the person may list them. */
function OwnResources(props: OwnResourcesProps) {
  const person = usePerson();
  const pageFor = (needs: Parameters<typeof may>[1]) => (may(person, needs) ? firstPage : null);
  const agents = useAnswer('GET /v1/agents', pageFor({ scope: 'agents.read' }));
  const servers = useAnswer('GET /v1/mcp/servers', pageFor({ scope: 'mcp.write' }));
  const channels = useAnswer('GET /v1/channels/instances', pageFor({ scope: 'channels.read' }));
  const endpoints = useAnswer('GET /v1/webhooks/endpoints', pageFor({ scope: 'webhooks.write' }));
  const listed = [
    ...options('agent', agents.answer?.data),
    ...options('mcp_server', servers.answer?.data),
    ...options('channel_instance', channels.answer?.data),
    ...options('webhook_endpoint', endpoints.answer?.data),
  ];
  return (
    <KnownAnswer known={agents}>
      {() => (
        <>
          <Checks legend="Resources" options={listed} {...props} />
          <p class="faint">
            What a resource needs goes with it: the MCP servers of an agent, the agent of a channel or a
            webhook.
          </p>
        </>
      )}
    </KnownAnswer>
  );
}

function options(
  type: keyof typeof transferableTypes,
  resources: readonly { id: string; name: string }[] = [],
): [ResourceText, string][] {
  return resources.map(({ id, name }) => [resourceText(type, id), `${transferableTypes[type]}: ${name}`]);
}
