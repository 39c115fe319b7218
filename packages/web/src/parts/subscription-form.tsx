import type { ownerAlertTypes, tenantAlertTypes } from '@gatehouse/contract/alert-types';
import type { WebhookSubscription } from '@gatehouse/contract/webhook-subscriptions';
import { changesOf } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const types: Record<(typeof tenantAlertTypes)[number], string> = {
  'budget.threshold': 'Budget reached 50, 80 or 100\u00a0%',
  'limit.exceeded': 'Limit exceeded',
  'policy.counters_full': 'Policies count too many values',
  'guardrail.blocked': 'A guardrail blocks a text',
  'guardrail.failing': 'The check of a guardrail fails',
  'run.failed': 'Run failed',
  'endpoint.disabled': 'Webhook URL disabled',
  'channel.needs_reauth': 'Channel needs a new consent',
  'mcp.needs_auth': 'MCP server needs a login',
  'mcp.tool_changed': 'MCP tool changed',
  'provider_key.failing': 'Provider key rejected',
  'key.expiring': 'API key expires soon',
  'transfer.finished': 'Transfer finished',
};

const ownerTypes: Record<(typeof ownerAlertTypes)[number], string> = {
  'provider.down': 'Provider down',
  'provider_key.failing': 'Provider key rejected',
  'model.unpriced': 'Calls without a price',
  'catalogue.invalid': 'Model catalogue invalid',
  'issuer.groups_unreadable': 'Groups of an issuer unreadable',
  'tenant.budget_threshold': 'Budget of a tenant reached 50, 80 or 100\u00a0%',
};

/** The event types of each list of subscriptions, with their labels. */
const typesAt = {
  '/v1/webhooks/subscriptions': types,
  '/internal/v1/owner/webhook-subscriptions': ownerTypes,
} as const;
export type SubscriptionPath = keyof typeof typesAt;

interface SubscriptionFormProps {
  path: SubscriptionPath;
  onCreated: (secret: string) => void;
}

/** Subscribes a URL to events. */
export function NewSubscriptionForm({ path, onCreated }: SubscriptionFormProps) {
  const { values, field } = useFields({ url: '', event_types: [] as readonly string[] });
  const { url, event_types: chosen } = values;
  return (
    <ActionForm
      label="Subscribe"
      name={`POST ${path}`}
      input={() => ({ body: { url, event_types: [...chosen] } })}
      onDone={({ secret }) => onCreated(secret)}
      isIncomplete={chosen.length === 0}
    >
      <TextField label="URL" {...field('url')} isRequired maxLength={2_000} />
      <Checks legend="Event types" options={Object.entries(typesAt[path])} {...field('event_types')} />
    </ActionForm>
  );
}

interface ChangeProps {
  path: SubscriptionPath;
  subscription: WebhookSubscription;
  onDone: () => void;
}

/** Changes the URL and the events of a subscription. */
export function SubscriptionForm({ path, subscription, onDone }: ChangeProps) {
  const { id, url, event_types: chosen } = subscription;
  const before: { url: string; event_types: readonly string[] } = { url, event_types: chosen };
  const { values, field } = useFields(before);
  const body = () => {
    const { event_types: changed, ...rest } = changesOf(before, values);
    return { ...rest, ...(changed !== undefined && { event_types: [...changed] }) };
  };
  return (
    <ActionForm
      label="Save"
      name={`PATCH ${path}/{id}`}
      input={() => ({ params: { id }, body: body() })}
      onDone={onDone}
      isIncomplete={values.event_types.length === 0}
    >
      <TextField label="URL" {...field('url')} isRequired maxLength={2_000} />
      <Checks legend="Event types" options={Object.entries(typesAt[path])} {...field('event_types')} />
    </ActionForm>
  );
}
