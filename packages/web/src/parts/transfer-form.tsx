import type { Agent } from '@gatehouse/contract/agents';
import type { ChannelInstance } from '@gatehouse/contract/channel-instances';
import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import type { Scope } from '@gatehouse/contract/scopes';
import type { TransferMode, TransferPreview } from '@gatehouse/contract/transfers';
import type { WebhookEndpoint } from '@gatehouse/contract/webhook-endpoints';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useAnswer, useItems, type CurrentAnswer } from '../api/use-answer.ts';
import { useNames } from '../api/use-names.ts';
import { agentLabel } from '../format/agents.ts';
import { trimmed } from '../format/changes.ts';
import {
  chosenWithNeeds,
  resourcesIn,
  resourceText,
  transferableTypes,
  type Needs,
  type ResourceText,
} from '../format/transferred.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { useOfferedAgents } from './agent-choice.tsx';
import { Checks } from './checks.tsx';
import { Choice, LinesField, TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { Problem } from './problem.tsx';
import { Skeleton } from './skeleton.tsx';
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
  const include = {
    memory: values.include.includes('memory'),
    knowledge_graph: values.include.includes('knowledge_graph'),
  };
  return (
    <ActionForm
      label="Preview"
      name="POST /v1/tenant/resource-transfers/previews"
      input={() => ({ body: { ...values, resources: resourcesIn(values.resources), include } })}
      onDone={onCreated}
      isIncomplete={
        trimmed(values.resources).length === 0 ||
        values.target_tenant_id === '' ||
        values.source_tenant_id === ''
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

/** The resources of the tenant as far as the person may list them. */
function OwnResources({ value, onChange, param }: OwnResourcesProps) {
  const person = usePerson();
  const inputFor = (scope: Scope) => (may(person, { scope }) ? {} : null);
  const mayListAgents = may(person, { scope: 'agents.read' });
  const { known: agents, search } = useOfferedAgents(mayListAgents);
  const servers = useItems('GET /v1/mcp/servers', inputFor('mcp.write'));
  const channels = useItems('GET /v1/channels/instances', inputFor('channels.read'));
  const endpoints = useItems('GET /v1/webhooks/endpoints', inputFor('webhooks.write'));
  const lists = [agents, servers, channels, endpoints];
  // A choice before all of them have come would lack what it needs.
  const isAwaited = lists.some(({ answer, isLoading }) => answer === null && isLoading);
  const resources = {
    agents: agents.answer?.data ?? [],
    servers: servers.answer ?? [],
    channels: channels.answer ?? [],
    endpoints: endpoints.answer ?? [],
  };
  const { seen, unlisted } = useSeenAgents({ value, onChange, resources, mayAsk: mayListAgents });
  const labels = useRef(new Map<ResourceText, string>());
  const listed = [
    ...agentOptions(resources.agents),
    ...options('mcp_server', resources.servers),
    ...options('channel_instance', resources.channels),
    ...options('webhook_endpoint', resources.endpoints),
  ];
  for (const [resource, label] of [...agentOptions(seen), ...listed]) labels.current.set(resource, label);
  // The choice from another search stays in sight.
  const names = new Set(listed.map(([resource]) => resource));
  const others = value.filter((resource) => !names.has(resource));
  const offered = [
    ...others.map((other): [ResourceText, string] => [other, labels.current.get(other) ?? other]),
    ...listed,
  ];
  return (
    <div class={isAwaited ? 'known awaited' : 'known'} aria-busy={isAwaited}>
      {[...lists, unlisted].map(({ error, reload }, index) => (
        <Problem key={index} error={error} onRetry={reload} />
      ))}
      {search}
      {isAwaited ? (
        <Skeleton />
      ) : (
        <Checks
          legend="Resources"
          options={offered}
          value={value}
          onChange={(next) => onChange(chosenWithNeeds(value, next, needsIn({ ...resources, agents: seen })))}
          param={param}
        />
      )}
      <p class="faint">
        What a resource needs is chosen with it: the MCP servers of an agent, the agent of a channel or a
        webhook.
      </p>
    </div>
  );
}

interface SeenAgentsOptions extends Pick<OwnResourcesProps, 'value' | 'onChange'> {
  resources: ListedResources;
  mayAsk: boolean;
}

/**
 * All agents shown by lists. A list has a hundred: another chosen agent, such as the one of a channel, is
 * asked for, and what it needs is chosen when it has come.
 */
function useSeenAgents({ value, onChange, resources, mayAsk }: SeenAgentsOptions): {
  seen: readonly Agent[];
  unlisted: CurrentAnswer<Agent>;
} {
  const agents = useRef(new Map<ResourceText, Agent>());
  for (const agent of resources.agents) agents.current.set(resourceText('agent', agent.id), agent);
  const missing = value.find((text) => text.startsWith(agentText) && !agents.current.has(text));
  const agentID = missing?.slice(agentText.length);
  const unlisted = useAnswer(
    'GET /v1/agents/{agentID}',
    mayAsk && agentID !== undefined ? { params: { agentID } } : null,
  );
  const { answer } = unlisted;
  useEffect(() => {
    if (missing === undefined || answer === null || answer.id !== agentID) return;
    agents.current.set(missing, answer);
    const needs = needsIn({ ...resources, agents: [answer] });
    onChange(
      chosenWithNeeds(
        value.filter((text) => text !== missing),
        value,
        needs,
      ),
    );
  }, [answer]);
  return { seen: [...agents.current.values()], unlisted };
}

const agentText = resourceText('agent', '');

interface ListedResources {
  agents: readonly Agent[];
  servers: readonly WireMcpServer[];
  channels: readonly ChannelInstance[];
  endpoints: readonly WebhookEndpoint[];
}

/** The needs of each resource. */
function needsIn({ agents, servers, channels, endpoints }: ListedResources): Needs {
  const serverOf = new Map(servers.map(({ id, name }) => [name, resourceText('mcp_server', id)]));
  return new Map([
    ...agents.map(({ id, tools }): [ResourceText, ResourceText[]] => [
      resourceText('agent', id),
      tools.mcp_servers.flatMap((chosen) => serverOf.get(serverIn(chosen)) ?? []),
    ]),
    ...channels.map(({ id, agent_id: agent }): [ResourceText, ResourceText[]] => [
      resourceText('channel_instance', id),
      [resourceText('agent', agent)],
    ]),
    ...endpoints.map(({ id, agent_id: agent }): [ResourceText, ResourceText[]] => [
      resourceText('webhook_endpoint', id),
      [resourceText('agent', agent)],
    ]),
  ]);
}

/** The server of `SERVER` or `SERVER/TOOL`. */
function serverIn(chosen: string): string {
  const [server = ''] = chosen.split('/');
  return server;
}

function agentOptions(agents: readonly Agent[]): [ResourceText, string][] {
  return options(
    'agent',
    agents.map((agent) => ({ id: agent.id, name: agentLabel(agent) })),
  );
}

function options(
  type: keyof typeof transferableTypes,
  resources: readonly { id: string; name: string }[],
): [ResourceText, string][] {
  return resources.map(({ id, name }) => [resourceText(type, id), `${transferableTypes[type]}: ${name}`]);
}
