import type { ChannelInstance, ChannelType } from '@gatehouse/contract/channel-instances';
import { besideAddress, pastedAddress } from '../format/addresses.ts';
import { setWebhookOf } from '../format/snippets.ts';
import { AddressToPaste } from './address-to-paste.tsx';
import type { CreatedChannel } from './channel-form.tsx';
import { NewSecret, Snippet } from './new-secret.tsx';

const zaloCallback = '/v1/channels/zalo-oa/callback';

const steps: Record<ChannelType, string> = {
  generic:
    'Send messages to the URL as Standard Webhooks, signed with the secret. Replies go to the callback URL, signed with it too.',
  telegram: 'Run this line once, with your bot token and the secret token. Then write to the bot.',
  slack:
    'In the app: Event Subscriptions, with the URL as the request URL and the bot events app_mention and message.im. Then invite the bot.',
  zalo_oa:
    'In the app: set the URL as the webhook URL and choose the events user_send_text and others. Then choose Consent link here, and open it as an administrator of the account.',
};

/** The address of a channel, and the steps at its provider. */
export function ChannelNextSteps({ channel }: { channel: Pick<ChannelInstance, 'type' | 'webhook_url'> }) {
  const { type, webhook_url: url } = channel;
  return (
    <>
      <AddressToPaste label="Webhook URL" url={url} />
      {type === 'zalo_oa' ? (
        <AddressToPaste label="Callback URL of the app" url={besideAddress(url, zaloCallback)} />
      ) : null}
      <p>{steps[type]}</p>
      {type === 'telegram' ? <Snippet label="setWebhook" text={setWebhookOf(pastedAddress(url))} /> : null}
    </>
  );
}

/** A new channel: its secret, if it has a new one, and the next steps. */
export function ChannelCreated({ created, close }: { created: CreatedChannel; close: () => void }) {
  return (
    <>
      {created.secret === undefined ? null : <NewSecret label="Signing secret." secret={created.secret} />}
      <ChannelNextSteps channel={created} />
      <p class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </>
  );
}
