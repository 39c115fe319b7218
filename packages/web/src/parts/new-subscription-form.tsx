import type { tenantAlertTypes } from '@gatehouse/contract/alert-types';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

type AlertType = (typeof tenantAlertTypes)[number];

const types: Record<AlertType, string> = {
  'budget.threshold': 'Budget reached 50, 80 or 100 %',
  'limit.exceeded': 'Limit exceeded',
  'run.failed': 'Run failed',
  'endpoint.disabled': 'Webhook URL disabled',
  'channel.needs_reauth': 'Channel needs a new consent',
  'mcp.needs_auth': 'MCP server needs a login',
  'mcp.tool_changed': 'MCP tool changed',
  'provider_key.failing': 'Provider key rejected',
  'key.expiring': 'API key expires soon',
  'transfer.finished': 'Transfer finished',
};
const options = Object.entries(types) as [AlertType, string][];

/** Subscribes an address to events. */
export function NewSubscriptionForm({ onCreated }: { onCreated: (secret: string) => void }) {
  const { values, field } = useFields({ url: '', types: [] as readonly AlertType[] });
  return (
    <ActionForm
      label="Subscribe"
      name="POST /v1/webhooks/subscriptions"
      input={() => ({ body: { url: values.url, event_types: [...values.types] } })}
      onDone={({ secret }) => onCreated(secret)}
      isIncomplete={values.types.length === 0}
    >
      <TextField label="URL" {...field('url')} isRequired maxLength={2_000} />
      <Checks legend="Event types" options={options} {...field('types')} />
    </ActionForm>
  );
}
